"""The Jupyter kernel that runs one submission, as the grader holds it."""
