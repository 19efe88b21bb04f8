"""Objects that nobody would write, through all that an object goes through."""
