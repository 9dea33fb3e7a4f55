"""What the author of a hidden test imports: points, mistakes, expectations, and the learner to call."""
