"""Figures for the pages: they take plain results and draw; they know nothing about what they draw."""

from course_lib.figures.canvas import Drawing
from course_lib.figures.cycle import CycleFigure, cycle
from course_lib.figures.graph import GraphFigure, graph
from course_lib.figures.heat_map import HeatMapFigure, heat_map
from course_lib.figures.lines import lines
from course_lib.figures.ratios import Ratio, ratios
from course_lib.figures.roofline import roofline
from course_lib.figures.shapes import ShapesFigure, shapes
from course_lib.figures.stepper import StepperFigure, backward_stepper
from course_lib.figures.surface import surface
from course_lib.figures.timeline import timeline

__all__ = [
    "CycleFigure",
    "Drawing",
    "GraphFigure",
    "HeatMapFigure",
    "Ratio",
    "ShapesFigure",
    "StepperFigure",
    "backward_stepper",
    "cycle",
    "graph",
    "heat_map",
    "lines",
    "ratios",
    "roofline",
    "shapes",
    "surface",
    "timeline",
]
