"""Analyse the names in a cell: bound, taken from elsewhere, and used with dots.

The text is a learner's: it is parsed and never run, and the analysis can be evaded.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

__all__ = ["MAX_CHARS", "CellNames", "reachable_cells", "strip_comments_and_strings", "strip_magics", "used_names"]

DOTTED = re.compile(r"(?<!\w)[^\W\d]\w*(?:\.\w+)+")  # from the middle of a long word it would take the square
MAGIC = re.compile(r"([ \t]*)(?:%{1,2}\w+|!)[ \t]*(.*)")  # what begins a line that only IPython can read
# What else IPython alone can read: a question about a name, and the output of a command, which is given a name.
HELP = re.compile(r"([ \t]*)(?:\?\S.*|[%\w][\w.*]*\?{1,2}[ \t]*)")
CAPTURE = re.compile(r"([ \t]*[^\W\d][\w., ]*=[ \t]*)!.*")
TIMED = re.compile(r"([ \t]*)%{1,2}(?:time|timeit|prun)[ \t]+(.*)")
COMMENT = re.compile(r"^[ \t]*#.*", re.MULTILINE)
# Characters of a cell that is parsed: ten times the longest answer. Each may take the grader some ten microseconds, and
# the tree takes some hundred times their memory.
MAX_CHARS = 20_000
MAX_DOTS = 20  # of dots: a learner may write as many as they like
NAMED_TUPLES = {"namedtuple", "collections.namedtuple"}
IMPORTERS = {"__import__", "import_module", "importlib.import_module"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass
class CellNames:
    r"""The names in one cell: bound at its top level, taken from elsewhere, and, as they are written, with their dots.

    Examples
    --------
    >>> read = CellNames.of("import torch.func as f\nstep = 2\ndef slope(x):\n    return step * f.grad(loss)(x)")
    >>> sorted(read.bound), sorted(read.free), sorted(read.paths), read.aliases
    (['f', 'slope', 'step'], ['loss'], ['f.grad', 'torch.func'], {'f': 'torch.func'})
    """

    bound: set[str] = field(default_factory=set)
    free: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)
    starred: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)  # at its top level, or inside of its functions

    @classmethod
    def of(cls, source: str) -> "CellNames":
        """Read the names of a cell; of one that cannot be parsed, all that looks like a dotted name.

        A text is read once, however often it is asked for. One beyond ``MAX_CHARS`` is not parsed at all.
        """
        return _read_names(source) if len(source) <= MAX_CHARS else cls(paths=_dotted_words(source))

    @classmethod
    def _of_tree(cls, tree: ast.Module) -> "CellNames":
        read = cls()
        for node in ast.walk(tree):
            read._add(node)
            read.stored |= set(_stored_names(node))
        read.bound |= set(_top_level_names(tree))
        read.free -= read.stored
        return read

    def _add(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name):
                self.free.add(name)
            case ast.Attribute():
                self.paths.add(_dotted_name(node))
            case ast.Import(names=names):
                self.paths |= {each.name for each in names}
                self.aliases |= {(root := _first_name(each.name)): root for each in names if not each.asname}
                self.aliases |= {each.asname: each.name for each in names if each.asname}
            case ast.ImportFrom(module=str(module), names=names):
                self.paths |= {f"{module}.{each.name}" for each in names}
                self.aliases |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
                self.starred |= {module for each in names if each.name == "*"}
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if path := _dotted_name(value):
                self.aliases.setdefault(name, path)
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                self.paths.add(f".{name}")
            case ast.keyword(arg=str(name)):
                self.paths.add(f".{name}")
            case ast.Global(names=names):
                self.bound |= set(names)
            case ast.ClassDef(body=body):
                self.methods |= {each.name for each in body if isinstance(each, FUNCTIONS)}
                fields = (each.target for each in body if isinstance(each, ast.AnnAssign))
                self.methods |= {each.id for each in fields if isinstance(each, ast.Name)}
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                self.methods.add(name)
                self.paths.add(f"self.{name}")
            case ast.Call(func=func, args=[_, ast.Constant(value=str(names)), *_]) if (
                _dotted_name(func) in NAMED_TUPLES
            ):
                self.methods |= set(names.replace(",", " ").split())


@lru_cache(maxsize=64)
def _read_names(source: str) -> CellNames:
    """Read a cell that is short enough; one that is no Python is tried again without its lines for IPython."""
    tree = _parse(source) or _parse("\n".join(map(_replace_magic, source.splitlines())))
    return CellNames._of_tree(tree) if tree else CellNames(paths=_dotted_words(source))


def _dotted_words(source: str) -> set[str]:
    return set(DOTTED.findall(COMMENT.sub("", source)))


@lru_cache(maxsize=16)
def strip_comments_and_strings(source: str) -> str:
    """Strip comments and the text of strings from a cell's code: both may mention anything.

    Examples
    --------
    >>> strip_comments_and_strings("x = f('apply')  # and apply")
    "x = f('')"
    """
    tree = _parse(source)
    if not tree:
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    try:
        return ast.unparse(tree)
    except RecursionError:
        return source


def strip_magics(source: str) -> str:
    r"""Turn a cell that only IPython can read into Python: a statement that is timed stays, other magics go.

    Examples
    --------
    >>> strip_magics("%matplotlib inline\n%time x = 2")
    'pass\nx = 2'
    """
    return source if len(source) > MAX_CHARS or _parse(source) else "\n".join(map(_strip_magic, source.splitlines()))


def _strip_magic(line: str) -> str:
    if timed := TIMED.fullmatch(line):
        return timed[1] + timed[2]
    magic = MAGIC.fullmatch(line)
    return magic[1] + "pass" if magic else _replace_magic(line)


def reachable_cells(cells: Mapping[str, CellNames], names: Collection[str]) -> list[CellNames]:
    """Return the cells of these answers, and the cells whose names they use, except other answers."""
    todo = [cell for cell, read in cells.items() if cell in names or read.bound & set(names)]
    for cell in todo:  # grows while it is iterated over
        taken = cells[cell].free - cells.keys()
        todo += [other for other, read in cells.items() if other not in todo and read.bound & taken]
    return [cells[cell] for cell in todo]


def used_names(cells: Iterable[CellNames]) -> set[str]:
    r"""Return the dotted names that cells use, with aliases resolved, except methods that they define.

    Examples
    --------
    >>> sorted(used_names([CellNames.of("from jax import grad as d\nimport numpy as np\nd(np.sum)")]))
    ['jax.grad', 'numpy', 'numpy.sum']
    """
    cells = list(cells)
    aliases = {name: path for read in cells for name, path in read.aliases.items()}
    methods = {name for read in cells for name in read.methods}
    found = set()
    for path in (path for read in cells for path in read.paths):
        if _first_name(path) in aliases or path.rpartition(".")[2] not in methods:
            found.add(_resolve_alias(path, aliases))
    return found | {f"{module}.{name}" for read in cells for module in read.starred for name in read.free}


def _resolve_alias(path: str, aliases: Mapping[str, str]) -> str:
    """Replace the first name of a dotted name by what it was imported as, which may be another alias."""
    for _ in range(3):
        root, dot, rest = path.partition(".")
        path = aliases.get(root, root) + dot + rest
    return path


def _first_name(path: str) -> str:
    return path.partition(".")[0]


def _dotted_name(node: ast.AST) -> str:
    """Return an attribute as a dotted name, without what comes before the dots if that is not a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < MAX_DOTS:
        parts.append(node.attr)
        node = node.value
    match node:
        case ast.Name(id=root):
            parts.append(root)
        case ast.Call(func=func, args=[ast.Constant(value=str(module)), *_]) if _dotted_name(func) in IMPORTERS:
            parts.append(module)
        case _ if parts:
            parts.append("")
    return ".".join(reversed(parts))


def _stored_names(node: ast.AST) -> Iterator[str]:
    """Yield the names to which a node gives a value."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from ((each.asname or each.name).partition(".")[0] for each in names)


def _top_level_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that a cell binds for all others."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield from _stored_names(node)
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)


def _replace_magic(line: str) -> str:
    """Return a line without its IPython magic: the statement after it, or ``pass``."""
    if asked := HELP.fullmatch(line):
        return asked[1] + "pass"
    if taken := CAPTURE.fullmatch(line):
        return taken[1] + "None"
    if not (magic := MAGIC.fullmatch(line)):
        return line
    return magic[1] + (magic[2] if magic[2] and _parse(magic[2]) else "pass")


def _parse(source: str) -> ast.Module | None:
    if len(source) > MAX_CHARS:
        return None
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
