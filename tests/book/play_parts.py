"""What the tests of the figures to play with share: the Python side, the pages they are on, and a finger."""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "book" / "extensions"))

from play import load_figure

__all__ = ["NAMES", "PAGES", "drag_by_finger", "load_figure"]

ROOT = Path(__file__).parents[2]
NAMES = sorted(file.stem.replace("_", "-") for file in (ROOT / "book" / "play").glob("*.py"))
PAGES = {
    name: page.relative_to(ROOT).with_suffix("").as_posix()
    for page in sorted((ROOT / "chapters").rglob("*.md"))
    for name in re.findall(r"^:::\{play\} (\S+)", page.read_text("utf-8"), re.MULTILINE)
}


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
