"""Sandbox and resource limits of a learner's process: bubblewrap, namespaces, seccomp, cgroups, memory."""
