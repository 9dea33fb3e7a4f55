"""Write hidden tests: points, mistakes, checks of what came back, and the learner's functions to call."""
