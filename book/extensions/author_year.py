"""Label and sort the references as the text cites them: by who and when."""

from collections.abc import Iterable, Iterator

from pybtex.database import Entry
from pybtex.plugin import register_plugin
from pybtex.style.formatting.unsrt import Style
from pybtex.style.labels import BaseLabelStyle
from pybtex.style.sorting import BaseSortingStyle
from sphinx.application import Sphinx

from course_grader.notebooks.citations import last_names, short_names


class Labels(BaseLabelStyle):
    """Such as ``Glorot and Bengio, 2010``."""

    def format_labels(self, entries: Iterable[Entry]) -> Iterator[str]:
        """Yield the label of each entry."""
        return (f"{short_names(last_names(entry))}, {entry.fields['year']}" for entry in entries)


class Sorting(BaseSortingStyle):
    """By authors, then by year."""

    def sorting_key(self, entry: Entry) -> tuple[list[str], str]:
        """Return what an entry is sorted by."""
        return [name.casefold() for name in last_names(entry)], entry.fields["year"]


class AuthorYear(Style):
    """pybtex's plain style, with labels and order of our own."""

    default_label_style = Labels
    default_sorting_style = Sorting


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the style with pybtex, under the name that ``references.md`` asks for."""
    register_plugin("pybtex.style.formatting", "author_year", AuthorYear)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
