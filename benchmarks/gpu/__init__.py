"""What the book shows of a GPU, recorded by one command: ``python -m benchmarks.gpu``."""
