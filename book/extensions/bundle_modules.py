"""Join JavaScript modules into one classic script, because a browser loads no module from ``file://``."""

import re
from pathlib import Path

IMPORT = re.compile(r'^import (?:\{[^}]*\} from )?"(\.{1,2}/[\w./-]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:const|let|function|class|async function)\b)", re.MULTILINE)
EXPORTED = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)
DECLARED = re.compile(r"^(?:export )?(?:const|let|(?:async )?function|class) ([\w$]+)", re.MULTILINE)
COMMENT = re.compile(r"^ *// .*\n", re.MULTILINE)
LEFT_OVER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


class BundleError(ValueError):
    """The modules use what this small tool does not do."""


def bundle(entry: Path, *, public: str = "") -> str:
    """Return one script that runs ``entry`` and all that it imports; what it exports stands in the global ``public``.

    A module may import by name from files, and export declarations; ``entry`` may have ``export { … };``.
    All share one scope, so a name is declared once among them.

    Raises
    ------
    BundleError
        If modules import each other in a circle, declare a name twice, or use another form of import or export.
    """
    sources = _in_order(entry)
    owners: dict[str, str] = {}
    pieces = []
    for file, source in sources.items():
        name = f"{file.parent.name}/{file.name}"
        for declared in DECLARED.findall(source):
            if declared in owners:
                raise BundleError(f"{declared} is declared in {owners[declared]} and again in {name}; rename one")
            owners[declared] = name
        pieces.append(f"// {name}\n{_strip(name, source)}")
    if public:
        pieces.append(f"globalThis.{public} = {{{''.join(EXPORTED.findall(source))}}};\n")
    return f'(() => {{\n"use strict";\n{"".join(pieces)}}})();\n'


def _in_order(entry: Path) -> dict[Path, str]:
    """Read the modules, each after those that it imports, and ``entry`` last."""
    sources: dict[Path, str] = {}
    path: list[Path] = []

    def read(file: Path) -> None:
        if file in path:
            raise BundleError(f"these modules import each other: {' -> '.join(each.name for each in [*path, file])}")
        if file in sources:
            return
        path.append(file)
        source = file.read_text("utf-8")
        for imported in IMPORT.findall(source):
            read((file.parent / imported).resolve())
        path.pop()
        sources[file] = source

    read(entry.resolve())
    return sources


def _strip(name: str, source: str) -> str:
    """Remove what only a module may say."""
    plain = COMMENT.sub("", EXPORT.sub("", EXPORTED.sub("", IMPORT.sub("", source))))
    if left := LEFT_OVER.search(plain):
        raise BundleError(f"{name} has a line that cannot be joined: {left[0]}")
    return plain
