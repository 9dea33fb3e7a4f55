"""Open a download, a zip file or a folder, as files by name: bounded, with no links, and nothing outside of it."""

import os
import stat
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from course_grader.grading.exercises.submitted_notebook import MAX_BYTES
from course_grader.grading.grade_class.choose_notebook import clean_name
from course_grader.grading.grade_class.find_submissions import IGNORED_PREFIXES
from course_lib.errors import InputError

__all__ = ["open_download"]

MOST_FILES, MOST_TOTAL_BYTES = 50_000, 4 << 30
BOMB_RATIO, BOMB_BYTES = 100, 64 << 20  # notebooks pack into a tenth, their zeros into a thousandth
METADATA_BYTES = 64 << 20  # Gradescope's own file has all results of a class
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


@contextmanager
def open_download(download: Path) -> Iterator[Mapping[str, Path]]:
    """Open a download; the files of a zip lie in a temporary folder until the end of the ``with`` statement.

    Of a file that is too large to be a notebook only the beginning is unpacked.

    Raises
    ------
    InputError
        If it is neither a zip file nor a folder, has links or names that lead out of it, or unpacks to too much.
    """
    if download.is_dir():
        yield _list_folder(download)
    elif zipfile.is_zipfile(download):
        with tempfile.TemporaryDirectory() as folder:
            yield _unpack(download, Path(folder))
    else:
        came = "a file of another kind" if download.exists() else "nothing"
        raise InputError(f"expected a zip file or a folder at {download}, found {came}; give the download as it is")


def _list_folder(folder: Path) -> dict[str, Path]:
    """List the files of an unpacked download."""
    found: dict[str, Path] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(IGNORED_PREFIXES)]
        for name in names:
            path = Path(place, name)
            if path.is_symlink():
                raise InputError(f"expected files in {folder}, found the link {clean_name(name)}; remove it")
            if not name.startswith(IGNORED_PREFIXES):
                found[path.relative_to(folder).as_posix()] = path
        if len(found) > MOST_FILES:
            raise InputError(f"expected at most {MOST_FILES:,} files in {folder}, found more; give the download alone")
    return found


def _unpack(archive: Path, folder: Path) -> dict[str, Path]:
    """Unpack into files that have numbers for names, so that no name in the archive is ever a path here."""
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = [entry for entry in opened.infolist() if not entry.is_dir()]
            _check_entries(entries, archive)
            return {
                entry.filename: _unpack_file(opened, entry, folder / str(number))
                for number, entry in enumerate(entries)
                if not any(part.startswith(IGNORED_PREFIXES) for part in PurePosixPath(entry.filename).parts)
            }
    except InputError:  # a ValueError, too, that has its sentence
        raise
    except BROKEN as error:
        raise InputError(
            f"expected a zip file that can be unpacked at {archive}, found: {error}; download it again"
        ) from error


def _check_entries(entries: list[zipfile.ZipInfo], archive: Path) -> None:
    """Refuse an archive by what it says of itself; unpacking stops each file at the size that is said here."""
    for entry in entries:
        path, shown = PurePosixPath(entry.filename), clean_name(entry.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in entry.filename:
            raise InputError(f"expected names inside of {archive}, found {shown}; this is no download of a course")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise InputError(f"expected files in {archive}, found the link {shown}; this is no download of a course")
    total = sum(_kept_bytes(entry) for entry in entries)
    packed = max(1, sum(entry.compress_size for entry in entries))
    if len(entries) > MOST_FILES or total > MOST_TOTAL_BYTES or (total > BOMB_BYTES and total > BOMB_RATIO * packed):
        raise InputError(
            f"expected at most {MOST_FILES:,} files and {MOST_TOTAL_BYTES >> 30} GiB in {archive}, and no zip bomb; "
            f"found {len(entries):,} files of {total >> 20:,} MiB; unpack what is to be graded, and give the folder"
        )


def _kept_bytes(entry: zipfile.ZipInfo) -> int:
    """Return how much of a file is unpacked: one byte too many shows that it is too large."""
    limit = METADATA_BYTES if entry.filename.endswith("submission_metadata.yml") else MAX_BYTES + 1
    return min(entry.file_size, limit)


def _unpack_file(opened: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> Path:
    with opened.open(entry) as packed:
        raw = packed.read(_kept_bytes(entry))
    try:
        path.write_bytes(raw)
    except OSError as error:
        raise InputError(
            f"expected room to unpack in {path.parent}, found: {error.strerror}; set TMPDIR to a larger place"
        ) from error
    changed = time.mktime((*entry.date_time, 0, 0, -1))
    os.utime(path, (changed, changed))
    return path
