"""Profiles live: records, swaps, who owns which name, status, and pods whose profile is missing."""
