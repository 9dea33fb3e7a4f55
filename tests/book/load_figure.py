"""The Python side of a figure to play with, as the book's build loads it."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "book" / "extensions"))

from play import load_figure

__all__ = ["load_figure"]
