"""Following a training loop by its hooks: its clock, its optimizers, and what is looked at when."""
