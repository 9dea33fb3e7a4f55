"""What crosses between the grader and a learner's process: Jupyter messages, a socket, plain data."""
