"""Draw the computational graph behind a tensor: read it, place its nodes in layers, draw boxes and arrows."""

from course_lib.figures.graphs.figure import GraphFigure, graph

__all__ = ["GraphFigure", "graph"]
