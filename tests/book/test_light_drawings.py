"""Drawings are written shorter in the book than in its notebooks, and look the same."""

import gzip
import io
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
CHARTS = [
    "clipping/clip_the_gradient",
    "mechanics/fit_a_line",
    "mechanics/per_sample_gradients",
    "profiling/what_is_in_memory",
]
CHARTS += ["monitoring/eight_broken_runs", "training/how_far_to_step", "training/two_processes"]
EDGE, EDGES = 32, 40  # of 255, and pixels: what lies between two of them may be blended a little differently
LONGEST = 76_000  # bytes of a page, compressed: a third of a second on a slow phone


@pytest.fixture(scope="module")
def light_drawings():
    """Import the extension from the book's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "book" / "extensions")
        import light_drawings

        yield light_drawings


def read_drawings(path, found):
    """Return the drawings of a notebook's outputs."""
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    outputs = [output.get("data", {}).get("text/html", "") for cell in cells for output in cell.outputs]
    return [each[2] for output in outputs for each in found.finditer(output)]


@pytest.mark.parametrize("name", CHARTS)
def test_each_drawing_looks_as_it_did(browser, light_drawings, name):
    """Pixel by pixel, beside others of its page, and with every word."""
    drawings = read_drawings(ROOT / "chapters" / f"{name}.ipynb", light_drawings.DRAWING)
    short = [light_drawings.shorten(drawing) for drawing in drawings]
    assert len("".join(short)) < 0.9 * len("".join(drawings))
    page = browser.new_page(viewport={"width": 800, "height": 600}, device_scale_factor=2)
    looks, words = [], []
    for some in (drawings, short):
        page.set_content("".join(f"<p>{drawing}</p>" for drawing in some))
        shot = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
        looks.append(np.asarray(shot).astype(int))
        words.append(page.locator("text").all_text_contents())
    page.close()
    assert looks[0].shape == looks[1].shape
    assert (abs(looks[0] - looks[1]).max(axis=-1) > EDGE).sum() <= EDGES
    assert words[0] == words[1] != []


def test_areas_that_meet_are_drawn_one_by_one(light_drawings):
    """Where two translucent areas meet, or lie on each other, one path would look different."""
    area = '<path d="M {0} 0 L {1} 0 L {1} 9 z" style="fill: red; fill-opacity: 0.5"/>'
    draw = '<svg xmlns="http://www.w3.org/2000/svg">{}</svg>'.format
    for second, paths in (((3, 4), 1), ((2, 4), 2), ((0, 1), 2)):
        short = light_drawings.shorten(draw(area.format(1, 2) + area.format(*second)))
        assert short.count("<path") == paths, short


def test_no_page_is_long(build):
    """Whatever is drawn on it, and without the picture of a menu that is closed."""
    pages = {path: path.read_text("utf-8") for path in build.html.glob("chapters/*/*.html")}
    assert len(pages) > 20
    long = {path.stem: size for path, text in pages.items() if (size := len(gzip.compress(text.encode()))) > LONGEST}
    assert long == {}
    pictures = [tag for text in pages.values() for tag in re.findall(r"<img[^>]*logo_colab[^>]*>", text)]
    assert pictures != []
    assert [tag for tag in pictures if 'loading="lazy"' not in tag] == []
