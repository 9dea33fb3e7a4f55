"""Gradients as numbers: which parameters have one, and its measures, from PyTorch and from the engine."""
