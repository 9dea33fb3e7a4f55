"""Fast twins of plain operations: decorators, each of which computes the usual case in fewer steps.

A twin takes the plain function and returns one that does the same: it handles the case that a training loop repeats,
and calls the plain function for every other. The plain function states the rule and is what to read; it stays at hand
as ``__wrapped__``, and tests compare the two.
"""
