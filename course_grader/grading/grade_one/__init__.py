"""Grade one submission: its cells and the hidden tests in one pytest session, made into a report."""
