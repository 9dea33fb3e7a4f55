"""Collect pages as pytest files: nbval's, but numbers in outputs are compared as numbers.

So another processor, which adds in another order, agrees.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from nbformat import NotebookNode
from nbval.plugin import IPyNbCell, IPyNbFile

from course_grader.notebooks.clean import shorten_warnings
from course_grader.notebooks.compare_outputs import Difference, find_differences
from course_grader.notebooks.myst_text import tolerance_of

__all__ = ["PageFile"]

_Outputs = Iterable[NotebookNode]
MARKUP = ("text/html", "image/svg+xml")
SHOWN = 3  # differences of one output


class PageFile(IPyNbFile):  # type: ignore[misc] # nbval has no type information
    """A committed page."""

    def collect(self) -> Iterator["_PageItem"]:
        """Yield one item for each code cell, under nbval's name for it."""
        for cell in super().collect():
            yield _PageItem.from_parent(
                self, name=cell.name, cell_num=cell.cell_num, cell=cell.cell, options=cell.options
            )


class _PageItem(IPyNbCell):  # type: ignore[misc] # nbval has no type information
    """One code cell; a tag ``within:TOLERANCE:REASON`` says how far its numbers may be off."""

    def compare_outputs(self, test: _Outputs, ref: _Outputs, skip_compare: Collection[str] | None = None) -> bool:
        """Compare an output with the committed one; where they differ, ``comparison_traceback`` shows it."""
        skipped = set(skip_compare or self.parent.skip_compare)
        committed, came = _outputs_by_kind(ref, skipped), _outputs_by_kind(test, skipped)
        tolerance = tolerance_of(self.cell.metadata.get("tags", []))
        self.comparison_traceback = [f"In cell {self.cell.id!r}:"]
        for kind in dict.fromkeys([*committed, *came]):
            before, after = committed.get(kind, []), came.get(kind, [])
            if len(before) != len(after):
                self.comparison_traceback.append(f"{kind}: committed {len(before)} times, came {len(after)} times")
            for old, new in zip(before, after, strict=False):
                found = find_differences(
                    self.sanitize(old), self.sanitize(new), markup=kind in MARKUP, within=tolerance
                )
                self.comparison_traceback += _describe_differences(kind, found)
        return len(self.comparison_traceback) == 1


def _outputs_by_kind(outputs: _Outputs, skipped: set[str]) -> dict[str, list[str]]:
    """Return a cell's outputs by kind; nbval has joined the pieces of each stream."""
    found: dict[str, list[str]] = defaultdict(list)
    for output in outputs:
        if output.output_type == "stream":
            by_kind = {output.name: shorten_warnings(output.text) if output.name == "stderr" else output.text}
        else:
            by_kind = output.get("data", output)
        for kind, value in by_kind.items():
            if kind not in skipped:
                found[kind].append(value if isinstance(value, str) else json.dumps(value, sort_keys=True))
    return found


def _describe_differences(kind: str, found: list[Difference]) -> Iterator[str]:
    for each in found[:SHOWN]:
        yield f"{kind}, committed: {each.committed!r}\n{' ' * len(kind)}       came: {each.came!r}"
    if len(found) > SHOWN:
        yield f"{kind}: and {len(found) - SHOWN} more"
