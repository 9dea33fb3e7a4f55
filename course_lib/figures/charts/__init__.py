"""Draw charts that follow the page's colours, and that can be read without them."""

from course_lib.figures.charts.canvas import Drawing, canvas
from course_lib.figures.charts.heat_map import HeatMapFigure, heat_map
from course_lib.figures.charts.lines import lines
from course_lib.figures.charts.ratios import Ratio, ratios
from course_lib.figures.charts.roofline import roofline
from course_lib.figures.charts.stacked_areas import stacked_areas
from course_lib.figures.charts.strips import strips
from course_lib.figures.charts.surface import surface
from course_lib.figures.charts.timeline import timeline

__all__ = [
    "Drawing",
    "HeatMapFigure",
    "Ratio",
    "canvas",
    "heat_map",
    "lines",
    "ratios",
    "roofline",
    "stacked_areas",
    "strips",
    "surface",
    "timeline",
]
