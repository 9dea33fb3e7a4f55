"""Draw matrix products to scale, so that one sees which shapes fit."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from course_lib.errors import InputError
from course_lib.figures.html_frame import frame_figure

__all__ = ["MatrixProductsFigure", "matrix_products"]

UNIT, GAP, MARGIN, LABEL = 15, 12, 26, 20
OPERATOR_WIDTH = 18
SHARED = "var(--pst-color-primary, #1b6ca8)"


@dataclass(frozen=True)
class _Matrix:
    """Name of a matrix, and of its two dimensions."""

    name: str
    rows: str
    columns: str


_Part = _Matrix | str


@dataclass(frozen=True)
class MatrixProductsFigure:
    """Diagram of equations between matrices: an inline SVG in a notebook or a page, lines of text anywhere else."""

    equations: tuple[tuple[_Part, ...], ...]
    sizes: Mapping[str, int]
    title: str

    def describe(self) -> str:
        """Describe the drawing in words: every matrix with its shape."""
        return (
            f"{self.title}. " + "; ".join(" ".join(map(self._describe_part, parts)) for parts in self.equations) + "."
        )

    def _describe_part(self, part: _Part) -> str:
        """Write a matrix with its shape, or an operator."""
        if isinstance(part, str):
            return part
        return f"{part.name} ({self.sizes[part.rows]}, {self.sizes[part.columns]})"

    def _repr_html_(self) -> str:
        y, width, drawn = 0.0, 0.0, []
        for parts in self.equations:
            tallest = max(self.sizes[part.rows] for part in parts if isinstance(part, _Matrix)) * UNIT
            x, pieces = self._draw_equation(parts, middle=y + LABEL + tallest / 2)
            drawn.append(pieces)
            width, y = max(width, x), y + tallest + 2 * LABEL + GAP
        label = html.escape(self.describe(), quote=True)
        svg = (
            f'<svg viewBox="0 0 {width + 4:g} {y:g}" width="{width + 4:g}" role="img" '
            f'aria-label="{label}" style="max-width:100%;height:auto" font-family="system-ui,sans-serif" '
            f'font-size="13" text-anchor="middle" fill="currentColor">{"".join(drawn)}</svg>'
        )
        return frame_figure(svg, self.title)

    def __repr__(self) -> str:
        return self.describe()

    def _draw_equation(self, parts: Sequence[_Part], *, middle: float) -> tuple[float, str]:
        """Draw one equation, centred on ``middle``; return where it ends, too."""
        x, drawn = 0.0, []
        inner = _find_inner_dimensions(parts)
        for i, part in enumerate(parts):
            if isinstance(part, str):
                drawn.append(f'<text x="{x + OPERATOR_WIDTH / 2:g}" y="{middle + 5:g}">{html.escape(part)}</text>')
                x += OPERATOR_WIDTH
            else:
                x += MARGIN
                drawn.append(self._draw_matrix(part, x, middle, shared=inner.get(i, set())))
                x += self.sizes[part.columns] * UNIT + GAP
        return x, "".join(drawn)

    def _draw_matrix(self, part: _Matrix, x: float, middle: float, *, shared: set[str]) -> str:
        """Draw a matrix as a grid, with its name and dimensions."""
        width, height = self.sizes[part.columns] * UNIT, self.sizes[part.rows] * UNIT
        top = middle - height / 2
        grid = "".join(f"M{x + i * UNIT:g},{top:g}v{height:g}" for i in range(1, self.sizes[part.columns]))
        grid += "".join(f"M{x:g},{top + i * UNIT:g}h{width:g}" for i in range(1, self.sizes[part.rows]))
        rows = self._write_dimension(part.rows, x - 5, middle + 4, "end", bold="rows" in shared)
        columns = self._write_dimension(part.columns, x + width / 2, top - 5, "middle", bold="columns" in shared)
        return (
            f'<path d="{grid}" stroke="currentColor" stroke-opacity=".22" fill="none"/>'
            f'<rect x="{x:g}" y="{top:g}" width="{width:g}" height="{height:g}" fill="none" stroke="currentColor" '
            f'stroke-width="1.5"/>{rows}{columns}'
            f'<text x="{x + width / 2:g}" y="{top + height + 15:g}" font-weight="600">{html.escape(part.name)}</text>'
        )

    def _write_dimension(self, name: str, x: float, y: float, anchor: str, *, bold: bool) -> str:
        """Write a dimension's name and size; the one that a product sums over is bold, underlined and coloured."""
        style = f' font-weight="700" text-decoration="underline" style="fill:{SHARED}"' if bold else ""
        return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="12"{style}>{html.escape(name)}</text>'


def matrix_products(equations: Sequence[str], *, sizes: Mapping[str, int], title: str) -> MatrixProductsFigure:
    """Draw equations between matrices, each a grid of as many cells as it has entries.

    Parameters
    ----------
    equations : sequence of str
        Matrices as ``name:rows,columns``, with operators between them, separated by spaces. The dimension that ``@``
        sums over is marked.
    sizes : mapping of str to int
        The size of each dimension.
    title : str
        What the figure shows, for its accessible name.

    Raises
    ------
    InputError
        If ``@`` stands between matrices that do not fit.

    Examples
    --------
    >>> matrix_products(["x:b,d @ w:d,f = z:b,f"], sizes={"b": 4, "d": 3, "f": 5}, title="A layer")
    A layer. x (4, 3) @ w (3, 5) = z (4, 5).
    """
    return MatrixProductsFigure(
        tuple(tuple(_parse_word(word) for word in line.split()) for line in equations), dict(sizes), title
    )


def _parse_word(word: str) -> _Part:
    """Parse a matrix, such as ``w:d,f``; anything else is an operator."""
    if ":" not in word:
        return word
    name, dimensions = word.split(":")
    rows, columns = dimensions.split(",")
    return _Matrix(name, rows, columns)


def _find_inner_dimensions(parts: Sequence[_Part]) -> dict[int, set[str]]:
    """Return which side of which matrix a product sums over; refuse a product that does not exist."""
    inner: dict[int, set[str]] = {}
    for (i, left), (j, right) in pairwise((i, part) for i, part in enumerate(parts) if isinstance(part, _Matrix)):
        if list(parts[i + 1 : j]) != ["@"]:
            continue
        if left.columns != right.rows:
            raise InputError(
                f"a product sums over the columns of its left and the rows of its right matrix, which must be the same "
                f"dimension, but {left.name} has columns {left.columns} and {right.name} has rows {right.rows}; "
                f"should one of them be transposed?"
            )
        inner.setdefault(i, set()).add("columns")
        inner.setdefault(j, set()).add("rows")
    return inner
