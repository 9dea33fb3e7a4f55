"""Draw the theme's icons as masks in the style sheet: the few in use, instead of Font Awesome's 540 KB of script.

The theme brings that script for every page, and no other file with the drawings: they are read out of it.
"""

import re
from pathlib import Path

FAMILY = {"fa-solid", "fa-brands", "fa-lg"}  # of what kind, and how large
RULES = """\
/* Icons: Font Awesome Free, https://fontawesome.com, CC BY 4.0. */
:is({icons})::before {{
  content: ""; display: inline-block; height: 1em; vertical-align: -0.125em;
  background: currentColor; mask: var(--icon) center / contain no-repeat;
}}
@media (forced-colors: active) {{ :is({icons})::before {{ forced-color-adjust: none; background: ButtonText; }} }}
"""


def draw_icons(names: set[str], script: Path) -> str:
    """Return the rules that draw the icons among the names of classes."""
    text = script.read_text("utf-8")
    icons = sorted(name for name in names if name.startswith("fa-") and name not in FAMILY)
    selectors = ", ".join(f".{icon}" for icon in icons)
    return RULES.format(icons=selectors) + "\n".join(_rule(icon, text) for icon in icons) + "\n"


def _rule(icon: str, text: str) -> str:
    drawings = re.findall(rf'[{{,]"?{re.escape(icon[3:])}"?:\[(\d+),(\d+),\[[^\]]*\],"[0-9a-f]+","([^"]+)"', text)
    if not drawings:
        raise ValueError(f"the theme's Font Awesome has no icon {icon}; leave it out, or take another")
    width, height, path = drawings[-1]  # solid comes after regular
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'><path d='{path}'/></svg>"
    uri = svg.replace("<", "%3C").replace(">", "%3E").replace("#", "%23")
    size = f"{int(width) / int(height):.3g}em"
    return f'.{icon} {{--icon: url("data:image/svg+xml,{uri}")}} .{icon}::before {{width: {size}}}'
