"""Tests under load on a real API server; each prints its figures."""
