"""Grade notebooks that strangers wrote: as data, in a sandbox, by hidden tests that run outside of it."""
