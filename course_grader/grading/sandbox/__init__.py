"""Walls and limits around a learner's process: bubblewrap, namespaces, seccomp, cgroups, memory."""
