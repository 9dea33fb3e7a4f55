"""The graders that the benchmark runs side by side: how each is handed the same exercise and the same class."""
