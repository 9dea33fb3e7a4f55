"""Figures for the pages: they take plain results and draw; they know nothing of what they draw."""

from course_lib.figures.canvas import Drawing
from course_lib.figures.cycle import CycleFigure, cycle
from course_lib.figures.graph import GraphFigure, graph
from course_lib.figures.lines import lines
from course_lib.figures.shapes import ShapesFigure, shapes
from course_lib.figures.stepper import StepperFigure, backward_stepper
from course_lib.figures.surface import surface
from course_lib.figures.timeline import timeline

__all__ = [
    "CycleFigure",
    "Drawing",
    "GraphFigure",
    "ShapesFigure",
    "StepperFigure",
    "backward_stepper",
    "cycle",
    "graph",
    "lines",
    "shapes",
    "surface",
    "timeline",
]
