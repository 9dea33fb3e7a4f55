"""Write the reference from the docstrings: ``:::{api} course_lib.clipping`` becomes an entry for each public name.

The entries are Sphinx's own (autodoc), their sections are read by numpydoc. What links them and pages is in
``api_links.py``.
"""

import functools
import html
import inspect
import re
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

from api_names import FOLDER, MARK, Library, Name, module_of, read_library, source_lines
from docutils import nodes
from sphinx.addnodes import desc
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.inspect import signature, stringify_signature

from course_grader.notebooks.repository import Repository

INDEX = f"{FOLDER}/index"
BREAK = "<wbr>"  # where a long name may go on in the next line
TYPES = "Results and types"


def write_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace each mark by the entries of its module; the first page of the reference lists them all."""
    if page.startswith(f"{FOLDER}/"):
        library = read_library(Path(app.srcdir))
        source[0] = MARK.sub(lambda mark: _entries(library, mark[1], _level_below(mark)), source[0])
        if page == INDEX:
            app.env.note_reread()  # names come and go in files that are not this page's
            source[0] += "".join(_summary(library, module) for module in library.pages)


def _level_below(mark: re.Match[str]) -> str:
    """Return the signs of a heading below the one that a mark stands under."""
    return re.findall(r"^#+(?= )", mark.string[: mark.start()], re.MULTILINE)[-1] + "#"


def _summary(library: Library, module: str) -> str:
    """List what a module has, on the first page."""
    lines = (inspect.getdoc(module_of(module)) or "").partition("\n\n")[0]
    own = sorted(library.own[module], key=lambda each: each.name.lower())
    names = _listed([_link(each.name, each.full) for each in own])
    return f"\n\n{{py:mod}}`{module}`\\\n{' '.join(lines.split())}\n\n{names}\n"


def _entries(library: Library, module: str, level: str) -> str:
    """Return a module's docstring and its entries, below the headings of their sources where these hold several."""
    text = [_rst(f".. automodule:: {module}")]
    groups: dict[str, list[Name]] = {}
    for name in sorted(library.own[module], key=lambda each: each.home):
        groups.setdefault(_heading(name.home), []).append(name)
    if not len(library.own[module]) >= 3 * len(groups) > 3:
        groups = {"": [each for each in library.own[module] if not _is_result(each.value)]}
        groups[TYPES] = [each for each in library.own[module] if each not in groups[""]]
    for heading, names in groups.items():
        if names and heading and (text[1:] or heading != TYPES):
            text.append(f"{level} {heading}")
        if names:
            names.sort(key=lambda each: (_is_result(each.value), each.name.lower()))
            text.append(_rst(f".. py:currentmodule:: {module}", *(_entry(library, each) for each in names)))
    return "\n\n".join(text + _elsewhere(library, module))


def _is_result(value: object) -> bool:
    """Return whether users get it and do not make it: a constant, a type, or a class that documents no arguments."""
    if not inspect.isclass(value):
        return not inspect.isroutine(value)
    return "Attributes\n---" in (text := inspect.getdoc(value) or "") and "Parameters\n---" not in text


def _heading(home: str) -> str:
    """Return what a module is about: the first words of its docstring."""
    return re.split(r"[:.](?:\s|$)", str(module_of(home).__doc__))[0]


def _entry(library: Library, name: Name) -> str:
    """Return the directive that writes one entry."""
    value = name.value
    if inspect.isclass(value):
        kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
        public = [
            base.__name__ for base in value.__mro__[1:] if f"{base.__module__}.{base.__name__}" in library.entries
        ]
        return f".. {kind}:: {name.full}\n   :members:\n   :inherited-members: {', '.join(public)}"
    if inspect.isroutine(value):
        return f".. autofunction:: {name.full}"
    words = ModuleAnalyzer.for_module(name.home).find_attr_docs().get(("", name.name), [])
    shown = str(value).replace("typing.", "")
    return "\n".join([f".. py:data:: {name.name}", f"   :value: {shown}", "", textwrap.indent("\n".join(words), "   ")])


def _elsewhere(library: Library, module: str) -> list[str]:
    """Name the rest of ``__all__``: what has its entry on another page, and modules."""
    names, modules = [], []
    for name in library.elsewhere(module):
        value = getattr(module_of(module), name)
        if not isinstance(value, ModuleType):
            names.append(_link(name, library.entries[f"{module}.{name}"]))
        else:
            link = f"{{py:mod}}`{name} <{value.__name__}>`" if value.__name__ in library.pages else f"`{name}`"
            modules.append(f"- {link}: {str(value.__doc__).partition(chr(10))[0]}")
    title = "```{rubric} Also exported here\n```"
    listed = [_listed(names)] if names else []
    return [title, *listed, "\n".join(modules)] if names or modules else []


def _link(name: str, entry: str) -> str:
    return f"{{py:obj}}`{name} <{entry}>`"


def _listed(links: list[str]) -> str:
    return f":::{{div}} bp-names\n{' '.join(links)}\n:::"


def _rst(*directives: str) -> str:
    return "\n\n".join(["```{eval-rst}", *directives, "```"])


def skip_member(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out what a class has from Python, and operations that have entries of their own."""
    own = getattr(member, "fget", None) or getattr(member, "__func__", member)
    module = str(getattr(own, "__module__", "")) or ""
    if what in ("class", "exception") and not module.startswith(("course_lib", "course_grader")):
        return True
    return True if what == "class" and id(member) in read_library(Path(app.srcdir)).values else None


def mend_signature(
    app: Sphinx, what: str, name: str, value: type, options: object, arguments: str | None, result: object
) -> tuple[str, str] | None:
    """Leave out the arguments of a class that only the library makes, and those that ``__new__`` passes on."""
    if what == "class" and "**_" in (arguments or ""):
        own = signature(value.__init__, bound_method=True)  # type: ignore[misc]
        return stringify_signature(own, show_annotation=False, show_return_annotation=False), ""
    return ("", "") if what == "class" and _is_result(value) else None


def source_address(app: Sphinx, module: str, full: str) -> str | None:
    """Return the address of an entry's source in the repository."""
    root = Path(app.srcdir)
    library = read_library(root)
    top, _, member = full.partition(".")
    name = next((each for each in library.own.get(module, []) if each.name == top), None)
    if name is None or (found := source_lines(name, member)) is None:
        return None
    path, first, last = found
    return f"{_repository(root)}/{path.relative_to(root).as_posix()}#L{first}-L{last}"


@functools.cache
def _repository(root: Path) -> str:
    repository = Repository.read(root)
    return f"{repository.url}/blob/{repository.branch}"


def list_contents(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """List the entries beside a page: Sphinx would make that list again for each page of the book, for seconds."""
    if doctree is not None and page.startswith(f"{FOLDER}/"):
        context["toc"] = _contents(doctree)


def _contents(node: nodes.Node) -> str:
    items = []
    for child in node.children:
        if isinstance(child, nodes.section):
            items.append((child["ids"][0], html.escape(child[0].astext()), _contents(child)))
        elif isinstance(child, desc) and child[0]["ids"]:
            items.append((child[0]["ids"][0], re.sub(r"(?<=_)|(?<=[a-z])(?=[A-Z])", BREAK, child[0]["fullname"]), ""))
    lines = [f'<li><a class="reference internal" href="#{to}">{of}</a>{sub}</li>' for to, of, sub in items]
    return f"<ul>{''.join(lines)}</ul>" if lines else ""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    for extension in ("sphinx.ext.autodoc", "numpydoc", "sphinx.ext.linkcode"):
        app.setup_extension(extension)
    app.config.linkcode_resolve = lambda domain, info: source_address(app, info["module"], info["fullname"])
    app.connect("source-read", write_page)
    app.connect("html-page-context", list_contents)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-signature", mend_signature)
    app.add_css_file("api.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
