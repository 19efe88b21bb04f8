"""Memories: what is remembered by number alone has entries that nobody who writes objects can make
large.
"""

import ast
from typing import Final

from tests.architecture.sources import sources

SMALL: Final = {
    "adapters.kube_session.requests:timeout_of": "by our own time-outs",
    "api.decoding:_decoder": "one for each type of ours",
    "apps.install.variants:_parsed": "the files of the wheel",
    "api.known_status:_schema": "one for each kind of ours",
    "apps.run.plugin_packages:_distributions": "the packages that are installed",
    "core.pods.resource_names:is_extended": (
        "by resource names, of which the API server takes 317 characters"
    ),
    "core.pods.resource_names:is_scalar": "the same",
    "core.pods.resource_names:is_delegable": "the same",
    "core.devices.device_cel:_environment": "one",
    "core.plugins.cel.program:_environment_of": "by our own variables",
}
"""All others are ``core.structures.remembering.memoized``, which bounds the sum of sizes."""
_BY_NUMBER = ("functools.lru_cache", "functools.cache", "lru_cache", "cache")


def _by_number(decorator: ast.expr) -> bool:
    return (
        ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator) in _BY_NUMBER
    )


def test_what_is_bounded_by_number_is_small() -> None:
    """Each has its reason here; the embedded cluster serves its own user alone."""
    found = {
        name
        for source in sources()
        if source.layer != "towtank"
        for name, function in source.functions()
        if any(map(_by_number, function.decorator_list))
    }
    assert found == SMALL.keys()
