"""`moorage trial`: how the trial of a profile's new revision stands, and its end."""
