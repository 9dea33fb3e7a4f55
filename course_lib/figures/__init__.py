"""Draw figures for the pages, from plain results: charts, computational graphs, diagrams, and a stepper."""

from course_lib.figures.charts import (
    Drawing,
    HeatMapFigure,
    Ratio,
    canvas,
    heat_map,
    lines,
    ratios,
    roofline,
    stacked_areas,
    strips,
    surface,
    timeline,
)
from course_lib.figures.graphs import GraphFigure, graph
from course_lib.figures.loop_diagram import LoopFigure, loop_diagram
from course_lib.figures.matrix_products import MatrixProductsFigure, matrix_products
from course_lib.figures.stepper import StepperFigure, backward_stepper

__all__ = [
    "Drawing",
    "GraphFigure",
    "HeatMapFigure",
    "LoopFigure",
    "MatrixProductsFigure",
    "Ratio",
    "StepperFigure",
    "backward_stepper",
    "canvas",
    "graph",
    "heat_map",
    "lines",
    "loop_diagram",
    "matrix_products",
    "ratios",
    "roofline",
    "stacked_areas",
    "strips",
    "surface",
    "timeline",
]
