"""Say what the names in a page's cells stand for, as its imports have it."""

import ast
import re
from collections.abc import Iterator

from api_names import Library

Scope = dict[str, str]  # names of a page, and what each stands for; "" if for nothing of the library
INLINE = re.compile(r"([A-Za-z_][\w.]*)(?:\(.*\))?")


def parse(code: str) -> ast.Module | None:
    """Parse a cell, without IPython's own lines."""
    try:
        return ast.parse(re.sub(r"^(\s*)[%!].*", r"\1pass", code, flags=re.MULTILINE))
    except SyntaxError:
        return None


def bind(tree: ast.Module, scope: Scope, library: Library) -> None:
    """Enter what a cell imports and makes of the library's classes, and cross out what else it calls by the name."""
    imported: Scope = {}
    stored = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                imported |= {each.asname or each.name: f"{module}.{each.name}" for each in names}
            case ast.Import(names=names):
                imported |= {each.asname: each.name for each in names if each.asname}
                stored |= {each.name.partition(".")[0] for each in names if not each.asname}
            case ast.Name(id=name, ctx=ast.Store()) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                stored.add(name)
    own = {name: what if what.startswith("course_") else "" for name, what in imported.items()}
    scope |= dict.fromkeys(stored, "") | own
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=made))
                | ast.withitem(context_expr=ast.Call(func=made), optional_vars=ast.Name(id=name))
            ):
                what = resolve(ast.unparse(made).split("."), scope)
                if entry_of(what, library) and what.rpartition(".")[2][0].isupper():
                    scope[name] = f"{what}()"


def written(tree: ast.Module, scope: Scope, library: Library) -> Iterator[tuple[str, str]]:
    """Yield the names that a cell holds, as they are written, with their entries."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                yield from ((module, module) for _ in [0] if module in library.pages)
                pairs = [(each.name, f"{module}.{each.name}") for each in names]
            case ast.Name() | ast.Attribute():
                code = ast.unparse(node)
                pairs = [(code, resolve(code.split("."), scope))] if INLINE.fullmatch(code) else []
            case _:
                continue
        yield from ((code, entry) for code, what in pairs if (entry := entry_of(what, library)))


def resolve(parts: list[str], scope: Scope) -> str:
    """Return the full name of what is written as ``a.b.c``."""
    first = scope.get(parts[0], parts[0] if parts[0] in ("course_lib", "course_grader") else "")
    return ".".join([first, *parts[1:]]) if first else ""


def entry_of(full: str, library: Library) -> str | None:
    """Return the entry of a full name: a public name, a module with a page, or a member of a class."""
    if full in library.entries:
        return library.entries[full]
    owner, _, member = full.rpartition(".")
    owner = library.entries.get(owner.removesuffix("()"), "")
    return f"{owner}.{member}" if owner.rpartition(".")[2][:1].isupper() else None
