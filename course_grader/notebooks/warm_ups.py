"""A warm-up: a puzzle early on a page, of a minute or two, each part of which is judged as soon as it is answered.

A ``warm_up`` block holds a prompt, fields, which are those of ``typed_answers`` but for numbers, and words::

    :::{warm_up} What does each `.grad` hold?
    The prompt.

    :choice: `x.grad`
    - [ ] `None` -> Why somebody would think so, and what they missed.
    - [<] 48
    :order: The calls of one step
    - [>] `loss = model(x)`
    - [<] `loss.backward()` -> Why it cannot come earlier.
    - [x] `optimizer.step()` -> Why it cannot come earlier.

    The author's words.
    :::
"""

import math
import re
from dataclasses import dataclass

from course_grader.notebooks.page_facts import WORDS_PER_MINUTE
from course_grader.notebooks.typed_answers import Field, split_answer
from course_lib.errors import NotebookError

__all__ = ["WarmUp", "split_warm_up"]

FIRST_FIELD = re.compile(r"^(?=:(?:choice|order|number):)", re.MULTILINE)
SECONDS_PER_OPTION = 4  # to think


@dataclass(frozen=True)
class WarmUp:
    """A puzzle early on a page: a prompt, fields that are judged at once, and words on what holds, all as Markdown."""

    prompt: str
    fields: tuple[Field, ...]
    words: str

    @property
    def minutes(self) -> int:
        """How long it takes: reading what is shown, and a moment for each option."""
        shown = " ".join([self.prompt, *(field.as_question() for field in self.fields), self.words])
        options = sum(len(field.options) for field in self.fields)
        return math.ceil(len(shown.split()) / WORDS_PER_MINUTE + options * SECONDS_PER_OPTION / 60)


def split_warm_up(body: str) -> WarmUp:
    r"""Split what a ``warm_up`` block holds into its prompt, its fields and its words.

    Raises
    ------
    NotebookError
        As ``split_answer`` does, and if there are no fields, or one without a label or with a number to type.

    Examples
    --------
    >>> split_warm_up("Say.\n\n:choice: The gradient of `+`\n- [ ] Zero -> It moves.\n- [<] One\n\nSo.").prompt
    'Say.'
    """
    prompt, *rest = FIRST_FIELD.split(body.strip(), maxsplit=1)
    fields, words = split_answer(rest[0]) if rest else ([], "")
    if not fields or any(field.kind == "number" or not field.label for field in fields):
        raise NotebookError(
            f"a warm-up has fields ':choice: LABEL' or ':order: LABEL', but got {body[:60]!r}; add them"
        )
    return WarmUp(prompt.strip(), tuple(fields), words)
