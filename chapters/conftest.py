"""Pages are run again under the settings that they were built under."""

import os

from course_lib.notebooks.run import KERNEL_ENVIRONMENT

os.environ.update(KERNEL_ENVIRONMENT)
