"""How hypothesis is used (the same examples on every run of `make test`, many and new ones in `make
test-all`), options and marks.
"""

import pytest
from hypothesis import settings

from tests.tools import assets

# No deadline per example: the machine is shared, and budgets are the suites' matter
# (tests/suites.py).
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("thorough", deadline=None, max_examples=500, print_blob=True)
settings.load_profile("repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which Kubernetes is tried; tests/real/conftest.py says what that does."""
    parser.addoption(
        "--kubernetes",
        default="",
        choices=["", *assets.OLDER],
        help="an older control plane instead of the newest",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marks; tests/real/conftest.py says what they do."""
    config.addinivalue_line(
        "markers", "embedded: runs on the embedded cluster (put there by the run, not by tests)"
    )
    config.addinivalue_line("markers", "real_only: needs what the embedded cluster does not have")
    config.addinivalue_line(
        "markers", "since(version, what): needs what Kubernetes has since that version"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what an older API server does not have."""
    older = str(item.config.getoption("--kubernetes"))
    for mark in item.iter_markers("since"):
        version, what = mark.args
        if older and _numbers(older) < _numbers(version):
            pytest.skip(f"NOT TESTED on Kubernetes {older}: {what} came with {version}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
