"""Pack the built site into ``_build/zip/the-backward-pass.zip``; unpacked, it is read from the disk. ``make zip``."""

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

BUILD = Path(__file__).parents[2] / "_build"
NAME = "the-backward-pass"


def pack(html: Path, target: Path) -> None:
    """Pack a folder, as one named after the book."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(target, "w", ZIP_DEFLATED) as packed:
        for path in sorted(html.rglob("*")):
            packed.write(path, Path(NAME) / path.relative_to(html))


if __name__ == "__main__":
    pack(BUILD / "html", BUILD / "zip" / f"{NAME}.zip")
    print(f"Packed _build/zip/{NAME}.zip; its first page is {NAME}/index.html.")
