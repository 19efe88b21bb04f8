"""`moorage bundle`: an archive of what a report of a bug needs, without secrets."""
