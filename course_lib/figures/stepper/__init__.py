"""A figure that steps through a backward pass."""

from course_lib.figures.stepper.figure import StepperFigure, backward_stepper

__all__ = ["StepperFigure", "backward_stepper"]
