"""Step through the backward pass of a graph in a figure: what arrives, the rule, and what is sent on."""

from course_lib.figures.stepper.figure import StepperFigure, backward_stepper

__all__ = ["StepperFigure", "backward_stepper"]
