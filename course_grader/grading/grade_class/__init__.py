"""Grade a class: find the submissions, grade several at a time, compare them for similarity."""
