"""Read the library's public names: on which page of the reference each one stands, and where its source is."""

import ast
import functools
import importlib
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FOLDER = "api"
MARK = re.compile(r"^:::\{api\} ([\w.]+)\n:::$", re.MULTILINE)


@dataclass(frozen=True)
class Name:
    """A public name: the module that users import it from, and the one that holds its source."""

    package: str
    name: str
    home: str

    @property
    def full(self) -> str:
        """The name of its entry."""
        return f"{self.package}.{self.name}"

    @property
    def value(self) -> object:
        """The function, class, or whatever it names."""
        return getattr(module_of(self.package), self.name)


@dataclass(frozen=True)
class Library:
    """All public names. ``own`` has those with an entry, by the module on whose page it stands."""

    pages: dict[str, str]
    own: dict[str, list[Name]]
    entries: dict[str, str]  # under every name by which it can be imported, the name of its entry
    plain: dict[str, str]  # the same for names that say alone whose they are
    values: frozenset[int]  # ids of what has an entry

    def elsewhere(self, module: str) -> list[str]:
        """Return the module's public names whose entries are on another module's page."""
        return sorted(set(module_of(module).__all__) - {each.name for each in self.own[module]}, key=str.lower)


@functools.cache
def read_library(root: Path) -> Library:
    """Import each module that a page of the reference names, and give each of their public names one entry."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted((root / FOLDER).glob("*.md"))}
    pages = {module: f"{FOLDER}/{page}" for page, text in texts.items() for module in MARK.findall(text)}
    own: dict[str, list[Name]] = {module: [] for module in pages}
    entries: dict[str, str] = {module: module for module in pages}
    holders: dict[tuple[str, int], list[str]] = {}
    for module in pages:
        for name in module_of(module).__all__:
            if not isinstance(value := getattr(module_of(module), name), ModuleType):
                holders.setdefault((name, id(value)), []).append(module)
    homes = _homes()
    for key, modules in holders.items():
        home = homes.get(key, modules[0])
        name = Name(_package_of(home, modules), key[0], home)
        own[name.package].append(name)
        entries |= dict.fromkeys([f"{each}.{name.name}" for each in (*modules, home)], name.full)
    return Library(pages, own, entries, _plain_names(own), frozenset(which for _, which in holders))


@functools.cache
def module_of(name: str) -> ModuleType:
    """Import a module, or what hidden tests import like one: ``course_grader.expect``."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        package, _, attribute = name.rpartition(".")
        return getattr(importlib.import_module(package), attribute)  # type: ignore[no-any-return]


def _homes() -> dict[tuple[str, int], str]:
    """Return the module that defines each public name, by the name and its value."""
    found = {}
    for module, loaded in sorted(sys.modules.items(), key=lambda pair: -len(pair[0])):
        if module.startswith(("course_lib.", "course_grader.")) and not hasattr(loaded, "__path__"):
            defined = _defined(Path(str(loaded.__file__)))
            found |= {(n, id(getattr(loaded, n))): module for n in getattr(loaded, "__all__", ()) if n in defined}
    return found


def _package_of(home: str, holders: list[str]) -> str:
    """Choose the page of an entry: of the modules that export a name, the one nearest to its source."""
    near = [module for module in holders if f"{home}.".startswith(f"{module}.")]
    return max(near, key=len, default=holders[0])


def _plain_names(own: dict[str, list[Name]]) -> dict[str, str]:
    """Choose the names that are this library's alone: not the engine's, which are torch's, and no everyday words."""
    plain: dict[str, list[str]] = {}
    engine = {each.name for module, names in own.items() if ".autograd" in module for each in names}
    for names in own.values():
        for each in names:
            if each.name not in engine and re.search(r"[a-z]_?[A-Z]|[a-z\d]_[a-z]", each.name):
                plain.setdefault(each.name, []).append(each.full)
    return {name: full for name, [full, *others] in plain.items() if not others}


def source_lines(name: Name, member: str = "") -> tuple[Path, int, int] | None:
    """Find where a name, or a method of it, is defined: the file, and its first and last line."""
    if member:
        found = inspect.unwrap(getattr(name.value, member))
        found = getattr(found, "fget", found)
        if not inspect.isroutine(found):
            return None
        lines, first = inspect.getsourcelines(found)
        return Path(inspect.getfile(found)), first, first + len(lines) - 1
    path = Path(inspect.getfile(module_of(name.home)))
    node = _defined(path).get(name.name)
    return None if node is None else (path, node.lineno, node.end_lineno or node.lineno)


@functools.cache
def _defined(path: Path) -> dict[str, ast.stmt]:
    """Read what a file defines at its top level; of overloads the last, which is the function."""
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                found |= {each.id: node for each in ast.walk(target) if isinstance(each, ast.Name)}
    return found
