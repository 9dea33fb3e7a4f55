"""The figures to play with: their numbers are the library's, and a reader can use them in every way."""

import re

import numpy as np
import pytest

from tests.book.play_parts import NAMES, PAGES, load_figure

STATES = 40


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
