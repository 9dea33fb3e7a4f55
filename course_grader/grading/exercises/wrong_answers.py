"""Read known-wrong answers: each file under ``key/wrong/`` makes one mistake and says what the grader must answer.

The file starts with a docstring that names the mistake and ends with two lines, ``expects:`` (part of the message the
learner must get) and ``points:`` (what is left). Then come the answer cells it replaces, each under ``# %% <name>``;
the other answers are the reference's. What stands before the first of them is for linters and is not run.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from course_grader.grading.exercises.answers import answers_of, insert_answers
from course_grader.grading.exercises.exercise import Exercise
from course_lib.errors import InputError

__all__ = ["WrongAnswer", "read_wrong_answer", "read_wrong_answers"]

CELL = re.compile(r"^# %% ([\w-]+)\s*$", re.MULTILINE)
FIELD = re.compile(r"^(expects|points): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class WrongAnswer:
    """One plausible mistake, the points it must earn and the message it must get."""

    name: str
    mistake: str
    expects: str
    points: float
    answers: dict[str, str]

    def notebook(self, exercise: Exercise) -> NotebookNode:
        """Return the reference notebook with this mistake in it.

        Raises
        ------
        InputError
            If it replaces a cell that is no answer of the exercise.
        """
        known = answers_of(exercise.reference())
        if strange := sorted(self.answers.keys() - known.keys()):
            raise InputError(
                f"{exercise.key / 'wrong' / self.name}.py: expected `# %%` and the name of an answer, one of "
                f"{', '.join(known)}, found {strange[0]!r}; correct it"
            )
        return insert_answers(exercise.reference(), self.answers)


def read_wrong_answers(exercise: Exercise) -> list[WrongAnswer]:
    """Return the known-wrong answers of an exercise, by name."""
    return [read_wrong_answer(path) for path in sorted((exercise.key / "wrong").glob("*.py"))]


def read_wrong_answer(path: Path) -> WrongAnswer:
    """Read one known-wrong answer.

    Raises
    ------
    InputError
        If a part is missing, or the file is not Python, in UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8")
        docstring = ast.get_docstring(ast.parse(text)) or ""
    except (SyntaxError, ValueError) as error:  # ValueError: not UTF-8
        raise InputError(f"{path}: expected Python in UTF-8, found other text: {error}; correct it") from error
    said = dict(FIELD.findall(docstring))
    parts = CELL.split(text)
    if said.keys() != {"expects", "points"} or len(parts) < 3:
        missing = [f"{name}: ..." for name in ("expects", "points") if name not in said] or ["# %% <cell>"]
        raise InputError(
            f"{path}: expected a docstring with `expects:` and `points:`, then `# %% <cell>` sections, found no line "
            f"`{missing[0]}`; add one"
        )
    try:
        points = float(said["points"])
    except ValueError:
        raise InputError(
            f"{path}: expected `points:` and the number that is left, found {said['points']!r}; write such as 8 or 7.5"
        ) from None
    return WrongAnswer(
        name=path.stem,
        mistake=docstring.splitlines()[0],
        expects=said["expects"].strip(),
        points=points,
        answers={name: code.strip() + "\n" for name, code in zip(parts[1::2], parts[2::2], strict=True)},
    )
