"""Kernels forked from a process that has imported what an exercise needs."""
