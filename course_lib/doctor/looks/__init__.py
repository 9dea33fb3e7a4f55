"""Looks at a training loop: losses, modules, operations, and the first value that is not finite."""
