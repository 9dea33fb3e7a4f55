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

Files = Mapping[PurePosixPath, Path]
METADATA = PurePosixPath("submission_metadata.yml")
# <last and first name, small letters alone>_[LATE_]<user>_<attachment>_<file>; what was typed in is no attachment.
CANVAS = re.compile(
    r"(?P<name>.+?)_(?P<late>LATE_)?(?P<user>\d+)_(?:\d+_(?P<file>.+)|(?P<typed>text\.html|link\.html))", re.DOTALL
)
CANVAS_ANONYMOUS = re.compile(r"(?P<late>LATE_)?(?P<name>anon_[^_]+)_(?:\d+_)?(?P<file>.+)", re.DOTALL)
CANVAS_USERS = re.compile(r"_(\d+)(?=_\d+_)")
# <full name>_<participant>_assignsubmission_file/<file>, once with "_" at its end; or _<file>, in no folder.
MOODLE = re.compile(
    r"(?P<name>[^_]+)_(?P<participant>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?", re.DOTALL
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
    placed = _strip_root({PurePosixPath(name): path for name, path in files.items()})
    for system, read in SYSTEMS.items():
        if hand_ins := read(placed):
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


def _strip_root(files: Mapping[PurePosixPath, Path]) -> Files:
    """Leave out the one folder that everything lies in, unless it is a learner's.

    What is left begins with what the system wrote: only below that do learners choose names, and could forge others.
    """
    roots = {name.parts[0] for name in files}
    if len(roots) == 1 and not any(MOODLE.fullmatch(root) for root in roots) and all(len(n.parts) > 1 for n in files):
        return {PurePosixPath(*name.parts[1:]): path for name, path in files.items()}
    return files


def _read_canvas(files: Files) -> list[HandIn]:
    """Read names of Canvas's, from whose beginning alone a learner can be told.

    Who is called ``ada_4711`` there could pass for ada, so each number that may be a user's is a key: if the roster has
    two of them, it is neither.
    """
    hand_ins: defaultdict[tuple[str, tuple[str, ...], bool], dict[str, Path]] = defaultdict(dict)
    for given, path in files.items():
        if found := CANVAS_ANONYMOUS.fullmatch(str(given)):
            hand_ins[found["name"], (), bool(found["late"])][found["file"]] = path
        elif found := CANVAS.fullmatch(str(given)):
            users = dict.fromkeys([found["user"], *CANVAS_USERS.findall(str(given))])
            hand_ins[found["name"], tuple(users), bool(found["late"])][found["file"] or found["typed"]] = path
    return [
        HandIn(
            " ".join([name, *users[:1]]), tuple(("id", user) for user in users), squashed_key(name), theirs, late=late
        )
        for (name, users, late), theirs in hand_ins.items()
    ]


def _read_moodle(files: Files) -> list[HandIn]:
    hand_ins: defaultdict[tuple[str, str], dict[str, Path]] = defaultdict(dict)
    for name, path in files.items():
        folder, *inside = name.parts
        if found := MOODLE.fullmatch(folder):
            hand_ins[found["name"], found["participant"]]["/".join(inside) or found["file"] or folder] = path
    return [
        HandIn(f"{name} {participant}", (), name_key(name), theirs) for (name, participant), theirs in hand_ins.items()
    ]


def _read_gradescope(files: Files) -> list[HandIn]:
    if METADATA not in files:
        return []
    hand_ins: defaultdict[str, dict[str, Path]] = defaultdict(dict)
    for name, path in files.items():
        folder, *inside = name.parts
        if inside:
            hand_ins[folder]["/".join(inside)] = path
    metadata = _read_metadata(files[METADATA])
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

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # a base chosen at run time
        pass

    Loader.add_multi_constructor("!", lambda loader, suffix, node: None)
    try:
        metadata = yaml.load(path.read_bytes(), Loader=Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(
            f"expected YAML in Gradescope's {METADATA}, found other text: {error}; download it again"
        ) from error
    return metadata if isinstance(metadata, dict) else {}


SYSTEMS: Mapping[str, Callable[[Files], list[HandIn]]] = {
    "Gradescope": _read_gradescope,
    "Moodle": _read_moodle,
    "Canvas": _read_canvas,
}
