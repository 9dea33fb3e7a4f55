"""Figures for the pages: they take plain results and draw; nothing else in the library imports this package."""

from course_lib.figures.graph import GraphFigure, graph
from course_lib.figures.lines import LineFigure, lines

__all__ = ["GraphFigure", "LineFigure", "graph", "lines"]
