"""Steps that bring the service's older tables up to date, one file for each change of the tables."""
