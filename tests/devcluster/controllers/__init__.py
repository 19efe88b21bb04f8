"""Controllers on virtual time."""
