"""The commands of ``course``, one module each: its function of the same name is the command."""
