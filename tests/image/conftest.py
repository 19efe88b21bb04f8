"""What was released, and where it is installed."""

from tests.install.test_wheel import dist, moorage

__all__ = ["dist", "moorage"]
