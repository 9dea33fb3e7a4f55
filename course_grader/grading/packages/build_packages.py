"""Build the packages: a zip that Gradescope unpacks, and a folder that becomes a private repository."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import course_lib
from course_grader.grading.exercises.exercise import Exercise
from course_grader.grading.packages.package_files import GRADE_CLASS, GRADE_ONE, key_files, library_files, requirements
from course_lib.errors import InputError

__all__ = ["build_autograder", "build_classroom"]

TEMPLATES = Path(__file__).parent / "templates"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest a zip can say: the same input gives the same file
PLAIN, PROGRAM = 0o100644, 0o100755


def build_autograder(exercise: Exercise, out: Path, *, sandbox: bool = True, visibility: str = "visible") -> None:
    """Build an autograder for Gradescope (a zip file).

    Parameters
    ----------
    exercise : Exercise
        The exercise that it grades. Its key is in the file: keep it as you keep the key.
    out : Path
        The zip file; it must not be there yet.
    sandbox : bool
        Whether it refuses to grade where no sandbox can be made; else it grades all the same, and says so.
    visibility : str
        When Gradescope shows the hidden tests: :func:`.gradescope_results` has the words.

    Raises
    ------
    InputError
        If ``out`` is there, or its folder is not.
    """
    if out.suffix != ".zip":
        raise InputError(f"expected the name of a zip file, found {out}; end it in .zip")
    _check_free(out)
    settings = {"exercise": exercise.slug, "sandbox": sandbox, "visibility": visibility}
    settings |= {"grader_version": course_lib.__version__}
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("setup.sh", "run_autograder"):
            _add_file(archive, name, (TEMPLATES / name).read_bytes(), mode=PROGRAM)
        _add_file(archive, "settings.json", json.dumps(settings, indent=2).encode())
        _add_file(archive, "requirements.txt", requirements(exercise, GRADE_ONE).encode())
        for name, raw in [*library_files(), *_prefix_names("key", key_files(exercise))]:
            _add_file(archive, name, raw)
    _write_file(out, whole.getvalue())


def build_classroom(exercise: Exercise, out: Path) -> None:
    """Build a private repository whose workflow grades the repositories of a GitHub Classroom.

    Raises
    ------
    InputError
        If ``out`` is there, or its folder is not.
    """
    _check_free(out)
    workflow = (TEMPLATES / "classroom.yml").read_text(encoding="utf-8").replace("@EXERCISE@", exercise.slug)
    files = [(".github/workflows/grade.yml", workflow.encode()), ("requirements.txt", _class_requirements(exercise))]
    for name, raw in [*files, *library_files(), *_prefix_names("key", key_files(exercise))]:
        (path := out / name).parent.mkdir(parents=True, exist_ok=True)
        _write_file(path, raw)


def _class_requirements(exercise: Exercise) -> bytes:
    return requirements(exercise, GRADE_CLASS).encode()


def _write_file(path: Path, raw: bytes) -> None:
    """Write a new file, or nothing, and say where there was no room."""
    with path.open("xb") as file:
        try:
            file.write(raw)
            file.flush()
        except OSError as error:
            path.unlink()
            raise InputError(
                f"expected to write {path}, found: {error.strerror}; make room there, or name another --out"
            ) from error


def _check_free(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise InputError(f"expected a name that is free, found something at {out}; remove it, or name another --out")
    if not out.absolute().parent.is_dir():
        raise InputError(f"expected a folder at {out.absolute().parent}, found none; make it, or name another --out")


def _prefix_names(folder: str, files: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    yield from ((f"{folder}/{name}", raw) for name, raw in files)


def _add_file(archive: zipfile.ZipFile, name: str, raw: bytes, *, mode: int = PLAIN) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
    archive.writestr(entry, raw)
