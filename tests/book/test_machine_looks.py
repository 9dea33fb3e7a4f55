"""The backward() machine at every width, in both schemes, on paper, without motion and without JavaScript."""

import json

import pytest

from tests.book.machine_parts import USED_TWICE, link, part


def test_it_fits_and_is_quiet_at_every_width(machine):
    """From file://, with each example, nothing spills out of its box, the figure or the page; nothing is logged."""
    page = machine()
    assert page.url.startswith("file:")
    for width in (360, 390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        for example in part(page, "example").locator("option").all()[:-1]:
            part(page, "example").select_option(example.get_attribute("value"))
            part(page, "stage").focus()
            page.keyboard.press("End")
            at = (width, example.inner_text())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), at
            assert part(page, "stage").evaluate("stage => stage.scrollWidth <= stage.clientWidth"), at
            assert page.evaluate(SPILLED) == [], at
    assert page.troubles == []


SPILLED = """[...document.querySelectorAll(".node")].flatMap(node => {
  const box = node.querySelector("rect").getBoundingClientRect();
  const isOut = text => (r => r.left < box.left || r.right > box.right)(text.getBoundingClientRect());
  return [...node.querySelectorAll("text")].filter(isOut).map(text => text.textContent);
})"""


def test_it_plays_and_is_still_for_those_who_ask_for_it(build, open_file):
    """With reduced motion the walk goes on by itself, and nothing moves."""
    page = open_file(build.html / "machine.html", alone=False, reduced_motion="reduce")
    part(page, "play").click()
    page.wait_for_function("document.querySelector('[data-part=count]').textContent.startsWith('2 of')")
    part(page, "play").click()
    assert page.evaluate("document.getAnimations().length") == 0


def test_without_javascript_it_is_a_picture_and_a_table(build, open_file):
    """By the course's own engine, with the same numbers; and nothing is there that does not work."""
    page = open_file(build.html / "machine.html", alone=False, java_script_enabled=False)
    still = page.locator("#machine")
    assert "x = 2" in still.locator("table").inner_text()
    assert "2.584" in still.locator("table").inner_text()  # y + cos(x)
    assert still.locator("svg[role=img]").is_visible()
    assert still.locator("button, input, select, textarea").count() == 0


def test_paper_shows_the_end_of_the_walk(machine):
    """And all numbers, and no buttons; afterwards it is where it was."""
    page = machine()
    page.evaluate(
        "addEventListener('beforeprint', () => window.printed = document.querySelector('#machine').innerText)"
    )
    page.emulate_media(media="print")
    page.pdf()
    printed = page.evaluate("window.printed")
    assert "x.grad = 2.58" in printed
    assert "sin(x)" in printed
    assert not part(page, "next").is_visible()
    page.emulate_media(media="screen")
    assert part(page, "count").inner_text() == "0 of 7"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_colours_can_be_read(machine, scheme):
    """Each text of the graph and of the dock stands out from what is behind it by 4.5 to 1."""
    page = machine(link(USED_TWICE, "x:3", depthfirst=1), scheme=scheme)
    page.keyboard.press("End")
    low = json.loads(page.evaluate(CONTRAST))
    assert low == []


CONTRAST = """(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const linear = c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(c => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const style = element => getComputedStyle(element), low = [];
  for (const text of document.querySelectorAll(".bp-machine .node text, .bp-machine .pill.sent text"))
    low.push([text.textContent, ratio(style(text).fill, style(text.parentNode.querySelector("rect")).fill)]);
  for (const text of document.querySelectorAll(".bp-machine .told p"))
    low.push([text.textContent, ratio(style(text).color, style(text.parentNode).backgroundColor)]);
  return JSON.stringify(low.filter(([text, ratio]) => text && ratio < 4.5));
})()"""
