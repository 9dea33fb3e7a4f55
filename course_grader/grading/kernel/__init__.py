"""Jupyter kernel that runs one submission: the grader's side."""
