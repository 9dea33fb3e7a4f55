"""Figures for the pages: they take plain results and draw; nothing else in the library imports this package."""

from course_lib.figures.graph import GraphFigure, graph

__all__ = ["GraphFigure", "graph"]
