"""Tests of what the built-in kinds do beyond their schemas."""
