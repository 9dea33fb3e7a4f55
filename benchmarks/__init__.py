"""Each claim of speed, measured side by side with its peer."""
