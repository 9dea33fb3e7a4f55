"""The figures to play with: their numbers are the library's, and a reader can use them in every way."""

import re
from pathlib import Path

import numpy as np
import pytest

from course_lib.profiling import memory_timeline
from tests.book.load_figure import load_figure

ROOT = Path(__file__).parents[2]
NAMES = sorted(file.stem.replace("_", "-") for file in (ROOT / "book" / "play").glob("*.py"))
PAGES = {
    name: page.relative_to(ROOT).with_suffix("").as_posix()
    for page in sorted((ROOT / "chapters").rglob("*.md"))
    for name in re.findall(r"^:::\{play\} (\S+)", page.read_text("utf-8"), re.MULTILINE)
}
STATES = 40


@pytest.fixture
def figure(visit):
    """Open the page of a figure; ``figure(name).root`` is its element."""

    def open_page(name, **settings):
        page = visit(PAGES[name], **settings)
        page.wait_for_selector(f"#{name}.ready")
        page.root = page.locator(f"#{name}")
        return page

    return open_page


def test_every_figure_is_on_a_page():
    """None is made for nothing."""
    assert sorted(PAGES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_its_numbers_are_the_librarys(figure, name):
    """In states all over its controls, the browser's model and the library's agree."""
    module = load_figure(name)
    data = module.data() if hasattr(module, "data") else None
    found = figure(name).evaluate(SAMPLE, [name, module.START, STATES, data])
    assert len({str(state) for state, _ in found}) > 1
    for state, numbers in found:
        for key, expected in module.model(state).items():
            assert_same(numbers[key], expected, f"{key} of {state}")


def assert_same(found, expected, what):
    """Compare numbers as numbers, in lists as well, and all else as it is."""
    if isinstance(expected, str | bool | None):
        assert found == expected, what
    else:
        np.testing.assert_allclose(np.array(found, float), expected, rtol=1e-6, atol=1e-12, err_msg=what)


# At random, but the same each time: a small generator of its own.
SAMPLE = """([name, start, count, data]) => {
  const { controls, model } = bpFigures[name];
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const snap = ({ min, max, step }) => min + step * Math.floor(random() * (1 + (max - min) / step));
  const draw = (range) => (range.base ? range.base ** snap(range) : snap(range));
  const pick = ({ name, options, max, x, y, press, ...rest }) =>
    press ? [] : x || y ? [x, y].filter(Boolean).map(each => [each.name, draw(each)])
    : [[name, options ? Object.keys(options)[Math.floor(random() * Object.keys(options).length)]
      : max === undefined ? random() < 0.5 : draw({ max, ...rest })]];
  const make = () => ({ ...start, ...Object.fromEntries(controls.flatMap(pick)) });
  return [start, ...Array.from({ length: count }, make)].map(state => [state, model(state, data)]);
}"""


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_a_phone_and_is_big_enough_for_a_thumb(figure, name):
    """At every width nothing scrolls sideways; what is dragged or pressed is 24 pixels high at least."""
    page = figure(name, width=390)
    for width in (360, 390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        assert page.root.evaluate(OUTSIDE) == [], width
    assert min(page.root.locator("input, button, .handle").evaluate_all(SIZES)) >= 24
    assert page.troubles == []


SIZES = """all => all.map(each => (each.closest("label") ?? each).getBoundingClientRect())
  .map(({ width, height }) => Math.min(width, height))"""
OUTSIDE = """root => {
  const frame = root.getBoundingClientRect();
  return [...root.querySelectorAll("text, .notch, dd, .value")].filter(text => !text.hidden)
    .map(text => [text.textContent, text.getBoundingClientRect()])
    .filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1).map(([words]) => words);
}"""


@pytest.mark.parametrize("name", NAMES)
def test_every_control_has_a_name_and_tells_what_it_changed(figure, name):
    """By keyboard alone: each is reached by Tab, and a screen reader hears the new sentence."""
    page = figure(name)
    controls = page.root.locator("input:not(:disabled), button, .handle")
    snapshot = page.root.aria_snapshot()
    assert not re.search(r"- (button|checkbox|slider|radio|img)(:|$)", snapshot, re.MULTILINE), snapshot
    assert controls.evaluate_all("all => all.every(each => each.tabIndex === 0)")
    moved = page.root.locator("input[type=range], .handle").first
    moved.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(
        "name => (q => q('[data-part=live]').textContent === q('[data-part=said]').textContent)"
        "(s => document.getElementById(name).querySelector(s))",
        arg=name,
    )
    assert moved.get_attribute("aria-valuetext")


@pytest.mark.parametrize("name", NAMES)
def test_without_javascript_it_is_a_picture_and_a_table(build, open_file, name):
    """And nothing that does not work."""
    page = open_file(build.html / f"{PAGES[name]}.html", alone=False, java_script_enabled=False)
    root = page.locator(f"#{name}")
    assert root.locator("svg[role=img]").is_visible()
    assert root.locator("tbody tr").count() >= 2
    assert root.locator("button, input").count() == 0


@pytest.mark.parametrize("name", NAMES)
def test_its_script_is_on_its_page_only(build, name):
    """Pages without it do not load it."""
    has = [file for file in build.html.rglob("*.html") if f"play-{name}.js" in file.read_text("utf-8")]
    assert [file.relative_to(build.html).as_posix() for file in has] == [f"{PAGES[name]}.html"]


def test_the_learning_rate_is_dragged_past_its_border(figure):
    """By slider and by finger; the address brings the state back, and the button the start."""
    page = figure("learning-rate", width=390)
    said, rate = page.root.locator("[data-part=said]"), page.root.get_by_label("Learning rate")
    rate.focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    assert said.inner_text() == "η = 0.21 is past 2/λ = 0.2: across grows by 1.1 a step; along still shrinks."
    before = page.root.locator("polyline.bwd").get_attribute("points")
    drag_by_finger(page, page.root.locator(".handle"), -60, 0)
    after = page.root.locator("polyline.bwd").get_attribute("points")
    assert after != before
    page.wait_for_function("location.hash.includes('learning-rate.rate=0.21') && location.hash.includes('.along=')")
    page.reload()
    page.wait_for_selector("#learning-rate.ready")
    assert page.root.locator("polyline.bwd").get_attribute("points") == after
    page.root.get_by_role("button", name="Reset").click()
    assert "is below" in said.inner_text()


def test_at_the_cliff_clipping_keeps_the_run_and_by_norm_its_direction(figure):
    """The run is the one that the library takes, up to the cliff; each way to clip says what it does there."""
    page = figure("clipping-cliff")
    cliff = load_figure("clipping-cliff")
    log = page.evaluate("start => bpFigures['clipping-cliff'].model(start).log", cliff.START)
    expected = cliff.run(cliff.START, steps=28)
    np.testing.assert_allclose([each["place"] for each in log[:28]], [each["place"] for each in expected], rtol=1e-6)
    said = page.root.locator("[data-part=said]")
    norm = f"At step 27 the gradient norm is {expected[27]['norm']:.2g}"
    assert said.inner_text().startswith(f"{norm}: the step throws the run off the map")
    page.root.get_by_label("by norm").check()
    assert said.inner_text() == f"{norm}: clipped, the step is 0.2 long, in the same direction."
    page.root.get_by_label("by value").check()
    assert re.fullmatch(rf"{norm}: clipped, the step is 0.28 long, turned by \d+°.", said.inner_text())
    page.root.get_by_label("Threshold").focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert "the step throws" in said.inner_text()  # too high a threshold is none


def test_the_layer_is_dragged_over_the_ridge_and_another_precision_takes_it_back(figure):
    """The point stays on the roof, wherever the finger is; the ridge depends on the precision, the batch does not."""
    page = figure("roofline", width=390)
    said = page.root.locator("[data-part=said]")
    assert "memory-bound" in said.inner_text()
    drag_by_finger(page, page.root.locator(".handle"), 60, -70)
    assert "past the ridge at 12.5: compute-bound. At best 100% of the peak." in said.inner_text()
    rows = page.root.get_by_label("Rows in the batch")
    chosen = rows.get_attribute("aria-valuetext")
    page.root.get_by_label("bfloat16").check()
    assert "left of the ridge at 201: memory-bound" in said.inner_text()
    assert rows.get_attribute("aria-valuetext") == chosen


def test_checkpointing_halves_the_peak_of_many_tokens_and_not_that_of_many_words(figure):
    """The cursor says what is alive at the peak, and can be dragged elsewhere."""
    page = figure("memory", width=390)
    said, cursor = page.root.locator("[data-part=said]"), page.root.get_by_role("slider", name="Operation")

    def peaks():
        found = []
        for form in ("plain", "checkpointed"):
            page.root.get_by_label(form, exact=True).check()
            number, unit = re.search(r"Peak: ([\d.]+) ([GM])B", said.inner_text()).groups()
            found.append(float(number) * {"G": 1000, "M": 1}[unit])
        return found

    plain, checkpointed = peaks()
    assert 0.5 < checkpointed / plain < 0.55
    page.root.get_by_label("Words").press("End")
    plain, checkpointed = peaks()
    assert 0.9 < checkpointed / plain < 0.95
    page.root.get_by_role("button", name="Reset").click()
    page.root.get_by_role("button", name="To the peak").click()
    facts = page.root.locator("dl").inner_text()
    assert "4 outputs of GELUs" in facts
    assert "gradient of the logits" in facts
    drag_by_finger(page, cursor, -100, -50)
    assert "of block 2 (forward pass). Peak:" in said.inner_text()


def test_memory_of_a_real_step_is_that_of_the_figure():
    """The figure's tensors have no data; one with data takes as much."""
    memory = load_figure("memory")
    state = memory.START | {"tokens": 512, "width": 32, "words": 256}
    step, optimizer = memory.step_of(state)
    assert memory.count_kibibytes(memory_timeline(step, optimizer=optimizer)) == memory.model(state)


def drag_by_finger(page, element, dx, dy):
    """Put a finger on the middle of an element, and move it."""
    element.evaluate("each => each.scrollIntoView({ block: 'center' })")  # not under the header
    box = element.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    steps = [("touchStart", 0), *(("touchMove", i / 5) for i in range(1, 6))]
    for kind, part in steps:
        at = {"x": x + part * dx, "y": y + part * dy}
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [at]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
