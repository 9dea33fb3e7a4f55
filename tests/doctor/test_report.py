"""A report prints, is a page, and is Markdown: the same findings in each, whatever names hold."""

from html.parser import HTMLParser

import pytest

from course_lib.doctor import Finding, Report, StepTimes
from course_lib.errors import InputError

REPORT = Report(
    (Finding("gradients", "dead", "the gradient of a_b.<b>0</b>|c was 0.", "A leaky ReLU & warm-up."),),
    steps=3,
    losses=(2.0, 1.0),
    times=StepTimes(2e-3, {"backward": 1.5e-3, "optimizer": 0.5e-3}, 2),
    notes=("operations: the loop was too short.",),
)


class Text(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        self.tags.append(tag)

    def handle_data(self, data):
        """Note text."""
        self.text += data


def test_every_form_has_the_findings_the_times_and_what_was_not_seen():
    """Names stay text: no tag of HTML, no mark of Markdown."""
    page = Text()
    page.feed(REPORT.to_html())
    assert "b" not in page.tags
    assert REPORT.to_html().startswith("<!doctype html>")
    assert not REPORT._repr_html_().startswith("<!doctype")
    markdown = REPORT.to_markdown()
    assert r"a\_b.\<b\>0\</b\>\|c" in markdown
    for text in (repr(REPORT), page.text, markdown.replace("\\", "")):
        flat = " ".join(text.split())
        for words in (
            "a_b.<b>0</b>|c was 0. Try: A leaky ReLU & warm-up.",
            "1.50 ms",
            "75%",
            "the loop was too short.",
        ):
            assert words in flat


def test_a_file_has_the_form_of_its_ending(tmp_path):
    """And an ending that has no form is refused."""
    forms = {"r.html": REPORT.to_html(), "r.md": REPORT.to_markdown(), "r.txt": repr(REPORT)}
    for name, text in forms.items():
        assert REPORT.write(tmp_path / name).read_text(encoding="utf-8") == text
    with pytest.raises(InputError, match=r"\.html, \.md or \.txt"):
        REPORT.write(tmp_path / "r.docx")
