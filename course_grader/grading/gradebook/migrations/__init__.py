"""Steps that bring an old gradebook's tables up to date, one file for each change of the tables."""
