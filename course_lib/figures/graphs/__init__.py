"""Draw the computational graph behind a tensor: read it, place its nodes in layers, draw boxes and arrows."""

from course_lib.figures.graphs.figure import GraphFigure, graph
from course_lib.figures.graphs.layout import Layout, place_nodes
from course_lib.figures.graphs.svg import Box, BoxDrawing, Edge, Line

__all__ = ["Box", "BoxDrawing", "Edge", "GraphFigure", "Layout", "Line", "graph", "place_nodes"]
