"""Plant every known bug in the backward pass of a recorded loss, and compute the gradients that it gives."""

from course_lib.oracle.planted_bugs.plant import plant_bugs
from course_lib.oracle.planted_bugs.replay import PlantedBug, Tape, record_tape

__all__ = ["PlantedBug", "Tape", "plant_bugs", "record_tape"]
