"""Join the style sheets of the theme, the extensions and the book into one, without the rules that no page uses.

They come to 100 KB compressed in thirteen files, all of which a browser waits for before it paints; 20 KB are used.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tinycss2
from docutils import nodes
from icons import draw_icons
from sphinx.application import Sphinx

NAME = "book.css"
THEME = ("basic.css", "styles/pydata-sphinx-theme.css")  # which the theme's template loads by itself, before all others
UNUSED = {"togglebutton.css", "sphinx-thebe.css"}
MADE_BY_SCRIPTS = {"bs-tooltip-auto"}  # whose names scripts put together; those written in a script are found
FONT = re.compile(r"url\((fonts/source-serif-(?:text|display)\.woff2)\)")  # the others are loaded when they are needed
CLASS = re.compile(r"[.#]((?:[\w-]|\\.)+)")
ASIDE = re.compile(r"\[[^\]]*\]|:(?:not|is|where|has)\((?:[^()]|\([^()]*\))*\)")  # of these a selector needs no name


def link(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Have a page load the one sheet, and after it those that only this page has."""
    common = {sheet.filename for sheet in app.builder._orig_css_files}  # public only as a list that pages add to
    context["css_files"] = [sheet for sheet in context["css_files"] if sheet.filename not in common]
    context["stylesheet"] = f"{NAME}?v=0"  # until it is written


def read(app: Sphinx) -> str:
    """Return the text of all sheets that every page has, in the order in which pages loaded them."""
    static = Path(app.outdir) / "_static"
    others = sorted(app.builder._orig_css_files, key=lambda sheet: sheet.priority)
    media = {str(sheet.filename).removeprefix("_static/"): sheet.attributes.get("media") for sheet in others}
    sheets = {**dict.fromkeys(THEME), **media}
    texts = [_sheet(static / name, sheets[name]) for name in sheets if name not in UNUSED]
    return FONT.sub(lambda found: inline(static / found[1]), "\n".join(texts))


def _sheet(path: Path, media: str | None) -> str:
    text = path.read_text("utf-8").replace("url(../", "url(")
    return f"@media {media} {{\n{text}\n}}" if media not in (None, "all") else text


def inline(font: Path) -> str:
    """Return a font as the sheet's own data: there before the first word is painted, so that none of them moves."""
    return f"url(data:font/woff2;base64,{base64.b64encode(font.read_bytes()).decode()})"


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the sheet, once all pages are there to say what is used."""
    if exception is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    rules = tinycss2.parse_stylesheet(read(app), skip_comments=True, skip_whitespace=True)
    names = used_names(out)
    css = f"{prune(rules, names)}\n{draw_icons(names, out / '_static/scripts/fontawesome.js')}"
    (out / "_static" / NAME).write_text(css, "utf-8")
    version = hashlib.sha256(css.encode()).hexdigest()[:8]
    for page in out.rglob("*.html"):
        text = page.read_text("utf-8")
        page.write_text(re.sub(rf"{re.escape(NAME)}\?v=\w+", f"{NAME}?v={version}", text), "utf-8")


def used_names(out: Path) -> set[str]:
    """Return every class and id of the pages, and every word of the scripts, which may set one."""
    names = set(MADE_BY_SCRIPTS)
    for page in out.rglob("*.html"):
        for value in re.findall(r'\b(?:class|id)="([^"]*)"', page.read_text("utf-8")):
            names.update(value.split())
    for script in [*out.glob("_static/*.js"), *out.glob("_static/scripts/*.js")]:
        if script.name not in {"fontawesome.js", "search-text.js"}:
            names.update(re.findall(r"[\w-]+", script.read_text("utf-8")))
    return names


def prune(rules: Iterable[Any], names: set[str]) -> str:
    """Return the rules that may apply, as text."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [one for one in split_list(tinycss2.serialize(rule.prelude)) if may_apply(one, names)]
            if selectors:
                kept.append(f"{','.join(selectors)}{{{tinycss2.serialize(rule.content).strip()}}}")
        elif rule.content is not None and rule.lower_at_keyword in {"media", "supports"}:
            inner = prune(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), names)
            if inner:
                kept.append(f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inner}}}")
        elif "Font Awesome" not in (text := rule.serialize()) and rule.lower_at_keyword != "charset":
            kept.append(text)
    return "\n".join(kept)


def split_list(selectors: str) -> list[str]:
    """Split a list of selectors at its own commas."""
    parts, depth = [""], 0
    for letter in selectors:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def may_apply(selector: str, names: set[str]) -> bool:
    """Whether each class and id that a selector needs is used somewhere."""
    return all(name.replace("\\", "") in names for name in CLASS.findall(ASIDE.sub("", selector)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", link, priority=900)  # after those that add sheets to a page
    app.connect("build-finished", write, priority=950)  # after all pages and scripts were written
    return {"parallel_read_safe": True, "parallel_write_safe": True}
