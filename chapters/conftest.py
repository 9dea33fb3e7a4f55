"""Pages are run again under the settings that they were built under."""

import os

from course_lib.notebooks.build import KERNEL_ENVIRONMENT

os.environ.update(KERNEL_ENVIRONMENT)
