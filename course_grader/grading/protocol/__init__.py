"""Protocol between the grader and a learner's process: Jupyter messages, a socket channel, plain data."""
