"""Tell who handed in what from the names in a download of Canvas, Moodle or Gradescope."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from course_grader.grading.collect.match_roster import Key, email_key, name_key, squashed_key
from course_grader.grading.grade_class.choose_notebook import clean_name
from course_grader.grading.grade_class.find_submissions import IGNORED_PREFIXES
from course_grader.grading.text import join_names
from course_lib.errors import InputError
from course_lib.extras import load

__all__ = ["HandIn", "read_hand_ins"]

METADATA = "submission_metadata.yml"
# <last name and first name, small letters alone>_[LATE_]<user>_<attachment>_<file>; what was typed in is no attachment.
CANVAS = re.compile(
    r"(?P<name>.+?)_(?P<late>LATE_)?(?P<user>\d+)_(?:\d+_(?P<file>.+)|(?P<typed>text\.html|link\.html))", re.DOTALL
)
CANVAS_ANONYMOUS = re.compile(r"(?P<late>LATE_)?(?P<name>anon_[^_]+)_(?:\d+_)?(?P<file>.+)", re.DOTALL)
# <full name>_<participant>_assignsubmission_file/<file>, once with "_" at its end; or _<file>, in no folder.
MOODLE = re.compile(
    r"(?P<name>.+)_(?P<participant>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?", re.DOTALL
)


@dataclass(frozen=True)
class HandIn:
    """What one learner handed in, as a download has it.

    Parameters
    ----------
    shown : str
        The learner, as the download names them.
    keys : tuple of Key
        Each of them tells who it is, if the roster has it.
    name : Key
        Who it may be, if nobody else has that name.
    files : mapping
        Where each file lies, by the name that the learner gave it.
    submitted_at : datetime, optional
        If the download says so.
    late : bool
        Whether the download says so.
    """

    shown: str
    keys: tuple[Key, ...]
    name: Key
    files: Mapping[str, Path]
    submitted_at: datetime | None = None
    late: bool = False


def read_hand_ins(files: Mapping[str, Path]) -> tuple[str, list[HandIn]]:
    """Return the name of the system that a download is of, and all that is in it.

    Raises
    ------
    InputError
        If its names are those of no system, or Gradescope's own file cannot be read.
    """
    for system, read in SYSTEMS.items():
        if hand_ins := read(files):
            return system, [replace(each, files=_drop_hidden(each.files)) for each in hand_ins]
    came = join_names([clean_name(name) for name in files], most=3) if files else "no files"
    raise InputError(
        f"expected names as Canvas, Moodle or Gradescope give them when all submissions are downloaded, found {came}; "
        "give that download as it is, or make the folders <learner>/<exercise>.ipynb by hand"
    )


def _drop_hidden(files: Mapping[str, Path]) -> dict[str, Path]:
    """Leave out what a Mac put beside a file, under its name."""
    return {
        name: path
        for name, path in files.items()
        if not any(part.startswith(IGNORED_PREFIXES) for part in PurePosixPath(name).parts)
    }


def _read_canvas(files: Mapping[str, Path]) -> list[HandIn]:
    hand_ins: defaultdict[tuple[str, str, bool], dict[str, Path]] = defaultdict(dict)
    for name, path in files.items():
        given = PurePosixPath(name).name
        if found := CANVAS_ANONYMOUS.fullmatch(given):
            hand_ins[found["name"], "", bool(found["late"])][found["file"]] = path
        elif found := CANVAS.fullmatch(given):
            hand_ins[found["name"], found["user"], bool(found["late"])][found["file"] or found["typed"]] = path
    return [
        HandIn(f"{name} {user}".strip(), (("id", user),) if user else (), squashed_key(name), theirs, late=late)
        for (name, user, late), theirs in hand_ins.items()
    ]


def _read_moodle(files: Mapping[str, Path]) -> list[HandIn]:
    hand_ins: defaultdict[tuple[str, str], dict[str, Path]] = defaultdict(dict)
    for name, path in files.items():
        parts = PurePosixPath(name).parts
        for depth, part in enumerate(parts, 1):
            if found := MOODLE.fullmatch(part):
                given = "/".join(parts[depth:]) or found["file"] or part
                hand_ins[found["name"], found["participant"]][given] = path
                break
    return [
        HandIn(f"{name} {participant}", (), name_key(name), theirs) for (name, participant), theirs in hand_ins.items()
    ]


def _read_gradescope(files: Mapping[str, Path]) -> list[HandIn]:
    found = next((name for name in files if PurePosixPath(name).name == METADATA), None)
    if found is None:
        return []
    root = PurePosixPath(found).parent
    hand_ins: defaultdict[str, dict[str, Path]] = defaultdict(dict)
    for name, path in files.items():
        if name != found and PurePosixPath(name).is_relative_to(root):
            folder, *inside = PurePosixPath(name).relative_to(root).parts
            hand_ins[folder]["/".join(inside) or folder] = path
    metadata = _read_metadata(files[found])
    return [each for folder, theirs in hand_ins.items() for each in _submitters(folder, metadata.get(folder), theirs)]


def _submitters(folder: str, said: object, files: Mapping[str, Path]) -> Iterator[HandIn]:
    """Yield the same files for each member of a group; a folder that the metadata does not have is nobody's."""
    said = said if isinstance(said, dict) else {}
    submitters = said.get(":submitters")
    time = said.get(":created_at")
    time = time if isinstance(time, datetime) and time.tzinfo else None
    for each in submitters if isinstance(submitters, list) and submitters else [{}]:
        of = {key: str(value) for key, value in each.items() if value} if isinstance(each, dict) else {}
        name, email, number = (of.get(key, "") for key in (":name", ":email", ":sid"))
        keys = [*([email_key(email)] if email else []), *([("number", number)] if number else [])]
        shown = " ".join(filter(None, [name, email or number])) or folder
        yield HandIn(shown, tuple(keys), name_key(name), files, submitted_at=time)


def _read_metadata(path: Path) -> dict[str, Any]:
    """Read Gradescope's YAML, which may hold types of Ruby's; of those nothing is made."""
    yaml: Any = load("yaml", extra="grade")

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.add_multi_constructor("!", lambda loader, suffix, node: None)
    try:
        metadata = yaml.load(path.read_bytes(), Loader=Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(
            f"expected YAML in Gradescope's {METADATA}, found other text: {error}; download it again"
        ) from error
    return metadata if isinstance(metadata, dict) else {}


SYSTEMS: Mapping[str, Callable[[Mapping[str, Path]], list[HandIn]]] = {
    "Gradescope": _read_gradescope,
    "Moodle": _read_moodle,
    "Canvas": _read_canvas,
}
