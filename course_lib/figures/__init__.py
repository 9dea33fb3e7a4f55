"""Figures for the pages: they take plain results and draw; nothing else in the library imports this package."""

from course_lib.figures.graph import GraphFigure, graph
from course_lib.figures.lines import LineFigure, lines
from course_lib.figures.shapes import ShapesFigure, shapes
from course_lib.figures.stepper import StepperFigure, backward_stepper

__all__ = ["GraphFigure", "LineFigure", "ShapesFigure", "StepperFigure", "backward_stepper", "graph", "lines", "shapes"]
