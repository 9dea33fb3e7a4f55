"""Grade one submission: run its cells and the hidden tests in one pytest session, and report the results."""
