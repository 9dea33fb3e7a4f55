"""What the doctor looks at: losses, modules, operations, and the first value that is not finite."""
