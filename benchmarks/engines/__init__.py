"""A module per engine: its ``WORK`` has for each workload a function that prepares it and returns the step to time."""
