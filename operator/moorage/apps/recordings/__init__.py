"""Recordings: the commands that write them from outside, and those that make them again."""
