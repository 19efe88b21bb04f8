"""`moorage tune`: searches a recording for a profile that does better."""
