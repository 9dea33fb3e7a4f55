"""Grade notebooks by strangers: read as data, run in a sandbox, tested by hidden tests outside of it."""
