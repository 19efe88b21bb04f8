"""The clusters that tests/real/test_leaving.py has."""

from tests.real.conftest import assets
from tests.real.test_leaving import place

__all__ = ["assets", "place"]
