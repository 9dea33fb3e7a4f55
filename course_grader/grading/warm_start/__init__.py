"""Warm start: kernels forked from a process (the zygote) that has imported what an exercise needs."""
