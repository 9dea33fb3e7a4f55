"""Every result is, in a notebook, the tables and sentences that it prints: one list, and what must hold for each."""

import importlib
import pkgutil
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

import course_lib
from course_lib import oracle
from course_lib.doctor import Finding, FirstNonfinite, MemoryUse, ModuleUse, Report, StepTimes
from course_lib.instrument import SavedTensors
from course_lib.mlp import mlp_grad
from course_lib.monitoring import Diagnosis, GradientFinding, GradientStats, NonfiniteOrigin, ParameterStats
from course_lib.monitoring.nonfinite.origin import Place
from course_lib.profiling import (
    Advice,
    Bottleneck,
    Flops,
    LiveStorage,
    MemoryTimeline,
    ModuleTime,
    SavedActivation,
    SavedActivations,
    StepProfile,
    Timing,
)
from course_lib.rendering import ReadableResult
from course_lib.training import TrainingHistory

NAME = "<b>a_b</b>|&'\""  # what a module may be called
MANY = range(20)
HALF = np.array([[0.5]])


def compare(manual):
    """Compare one product, in NumPy alone."""
    return oracle.compare(lambda x, xp: (x * x).sum(), {"x": np.ones(3)}, {"x": manual}, engines=["autograd"])


FINDING = GradientFinding("dead", f"the gradient of {NAME} was exactly 0 in steps 81 to 100.", "Use a leaky ReLU.")
ORIGIN = NonfiniteOrigin(
    "log", "", Place(NAME, "return x.log()", "model.py:12"), 1, 2, 1024, "float32", ("4x256, from 0 to 1",)
)
BOTTLENECKS = (
    Bottleneck("copies", 0.75, f"copy_ in {NAME} (1 x 3.29 ms)", "a layout that fits"),
    Bottleneck("calls", 0.25, "addmm", "torch.compile"),
)
ADVICE = Advice(BOTTLENECKS, 4.32e-3, 5, "cpu")
MODULES = {NAME: ModuleTime(NAME, "Net", 1, 1e-3, 2e-3, 1e-3, 2e-3, (0.9e-3, 1.1e-3), (1e-3, 3e-3), noisy=True)}
RESULTS = {
    "advice": ADVICE,
    "the first value that is not finite": ORIGIN,
    "values that were there before": NonfiniteOrigin("", "", Place(NAME, "", ""), 1, 0, 4, "float32", ()),
    "the first loss that is not finite": FirstNonfinite(7, "loss", float("nan"), ORIGIN, "It was repeated."),
    "diagnosis": Diagnosis((FINDING, GradientFinding("unreached", "no gradient in 1.bias."))),
    "statistics": GradientStats(
        {
            NAME: ParameterStats((3, 4), 0.25, -0.001, 0.07, 0.9, nonfinite=False),
            "scale": ParameterStats((), *[float("nan")] * 4, nonfinite=False),
        },
        0.25,
    ),
    "history": TrainingHistory(
        (2.0, 1.0), (2.5, 1.25), {NAME: (0.125, 0.5)}, {NAME: (0.1, 0.25)}, (0.1, 0.1), (3.0, 4.0), (0, 1)
    ),
    "a long history": TrainingHistory(tuple(1 / (1 + epoch) for epoch in MANY)),
    "a history of NaN": TrainingHistory((float("nan"),)),
    "a history without an epoch": TrainingHistory(),
    "FLOPs": Flops(1234567, 2, {NAME: 1234567}, {"aten.mm": 2}, {"aten.sum": 3}),
    "FLOPs of inference": Flops(12, 0, {"aten.mm": 12}, {}, {}, has_backward=False),
    "saved tensors": SavedTensors(4096, 8192, tuple(((8, i), "torch.float32", 1024 * i) for i in MANY)),
    "saved activations": SavedActivations(
        4096, 1024, tuple(SavedActivation(NAME, "addmm", (8, i), "float32", 1024 * i) for i in MANY)
    ),
    "memory": MemoryTimeline(
        (0, 4096, 1024), ("addmm", "relu"), (NAME, "1"), (LiveStorage(NAME, "addmm", (8, 16), "float32", 4096),)
    ),
    "step": StepProfile(1e-3, 2e-3, 0.5e-3, 9e-3, MODULES, 12, "cpu"),
    "step of inference": StepProfile(1e-3, 0.0, 0.0, 1e-3, MODULES, 12, "cpu", has_backward=False),
    "timing": Timing(
        3.86e-3, 3.78e-3, 3.94e-3, 3.63e-3, 3.86e-3, noisy=True, samples=(1.0, 2.0), calls_per_sample=1, device="cpu"
    ),
    "gradients by hand": mlp_grad(np.ones((4, 2)), [np.ones((2, 3)), np.ones((3, 1))]),
    "gradients that agree": compare(2 * np.ones(3)),
    "gradients that differ": compare(np.ones(3)),
    "the first difference": compare(np.ones(3)).first,
    "the doctor's report": Report(
        (Finding("gradients", "dead", f"the gradient of {NAME} was 0.", "A leaky ReLU & warm-up."),),
        30,
        (2.0, 1.0),
        (FINDING,),
        FirstNonfinite(7, "loss", float("nan"), ORIGIN, ""),
        StepTimes(2e-3, {"backward": 1.5e-3, "optimizer": 0.5e-3}, 2),
        (ModuleUse(NAME, 1e-3, 2e-3, 4096),),
        ADVICE,
        MemoryUse(1024, 1024, 2048, 0),
        0.01,
        ("operations: the loop was too short.",),
    ),
    "a report of nothing": Report((), 1),
}
every_result = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)


class Page(HTMLParser):
    """The HTML of a result, parsed: its words, without captions, its tables, and whether each tag is closed."""

    def __init__(self, result):
        super().__init__()
        self.open, self.seen, self.words, self.heads, self.tables = [], Counter(), "", [], []
        self.feed(result._repr_html_())
        self.close()

    def handle_starttag(self, tag, attrs):
        """Note a tag; each begins a word of its own, save one that makes a word stand out."""
        self.open.append(tag)
        self.seen[tag] += 1
        self.words += "" if tag == "strong" else " "
        attrs = dict(attrs)
        if tag == "table":
            self.tables.append({"name": attrs.get("aria-label", ""), "rows": []})
        elif tag == "tr":
            self.tables[-1]["rows"].append([])
        elif tag in ("th", "td"):
            self.tables[-1]["rows"][-1].append("")
            self.heads += [(bool(self.open.count("thead")), attrs.get("scope"))] if tag == "th" else []

    def handle_endtag(self, tag):
        """A tag ends where it is the last that began."""
        assert self.open.pop() == tag

    def handle_data(self, data):
        """Note what is read."""
        if self.open[-1] == "caption":
            self.tables[-1]["name"] += data
        elif self.open[-1] != "style":
            self.words += data
        if self.open[-1] in ("th", "td"):
            self.tables[-1]["rows"][-1][-1] += data


@every_result
def test_a_notebook_shows_the_words_and_numbers_that_are_printed(result):
    """No more, no fewer; names stay text."""
    assert Counter(Page(result).words.casefold().split()) == Counter(repr(result).casefold().split())
    assert str(result) == repr(result)


@every_result
def test_the_tags_are_those_of_tables_and_sentences(result):
    """All are closed; none is a script's, and none a name's."""
    page = Page(result)
    assert page.open == []
    assert set(page.seen) <= {
        "style",
        "div",
        "h2",
        "p",
        "strong",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }


@every_result
def test_a_table_has_a_name_and_heads_that_say_what_they_name(result):
    """A caption, or a label from the title above it; every row has a cell for each head."""
    page = Page(result)
    for table in page.tables:
        head, *rows = table["rows"]
        assert table["name"]
        assert rows
        assert {len(row) for row in rows} == {len(head)}
    assert {scope for in_head, scope in page.heads if in_head} <= {"col"}
    assert {scope for in_head, scope in page.heads if not in_head} <= {"row"}


@every_result
def test_a_cell_of_a_name_holds_the_name(result):
    """Whole, not only its letters somewhere."""
    cells = [cell for table in Page(result).tables for row in table["rows"] for cell in row]
    assert [cell for cell in cells if "a_b" in cell] == [cell for cell in cells if NAME in cell]


def test_colours_are_those_of_the_page():
    """So it can be read on a dark page and on a light one."""
    style = RESULTS["step"]._repr_html_().partition("</style>")[0]
    assert "color:inherit" in style
    assert not {"#", "rgb", "background", "black"} & {
        mark for mark in ("#", "rgb", "background", "black") if mark in style
    }


def test_no_result_is_missing_here():
    """A class that is readable has an instance in the list."""
    for module in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    readable = {kind for kind in ReadableResult.__subclasses__() if kind.__module__.startswith("course_lib.")}
    assert readable == {type(result) for result in RESULTS.values()}
