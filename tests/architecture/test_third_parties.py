"""Which layer may use which third-party library. Anything not in these tables is refused: an
allow-list, not a ban list.
"""

import itertools
import sys
import tomllib
from collections.abc import Iterator
from typing import Final

import pytest

from tests.architecture.sources import ROOT, Source, sources

# yaml is in api since people write YAML; what reads and writes JSON is language, not library, in
# adapters.
LAYERS: Final[dict[str, frozenset[str]]] = {
    "kubefacts": frozenset(),
    "core": frozenset({"numpy", "msgspec", "annotated_types"}),
    "api": frozenset({"pydantic", "annotated_types", "yaml"}),
    "ports": frozenset(),
    "engine": frozenset(),
    "adapters": frozenset({"msgspec"}),
    "handlers": frozenset({"kopf"}),
    "towtank": frozenset({"aiohttp", "cryptography", "msgspec", "yaml"}),
}

# One door for a library that the rest of its layer does not see.
DOORS: Final[dict[str, frozenset[str]]] = {
    "kubefacts.cel": frozenset({"cel_expr_python"}),
    "kubefacts.patterns": frozenset({"re2"}),
    "towtank.pytest_plugin": frozenset({"pytest"}),
}

# An adapter stands for one library. Those that need two, and why.
ADAPTER_LIBRARIES: Final = frozenset(
    {"aiohttp", "cryptography", "kubernetes", "prometheus_client", "zstandard"}
)
TWO_LIBRARIES: Final[dict[str, str]] = {
    "adapters.kube_session": (
        "kubernetes.aio reads the configuration and the token, aiohttp carries the requests"
    ),
}


def third_parties(source: Source) -> set[str]:
    """Names of the libraries that a module imports."""
    return (
        {name.partition(".")[0] for name in source.imported()}
        - sys.stdlib_module_names
        - {"kubefacts", "moorage", "towtank"}
    )


def declared() -> Iterator[str]:
    """Import names of the libraries that the package and its extras depend on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    for requirement in itertools.chain(project["dependencies"], *extras):
        name = requirement.partition("==")[0].partition(">=")[0].strip()
        yield {"pyyaml": "yaml"}.get(name, name.replace("-", "_"))


@pytest.mark.parametrize(
    "source", [s for s in sources() if s.layer in LAYERS], ids=lambda source: source.module
)
def test_layers_use_their_libraries_only(source: Source) -> None:
    """A layer imports what its row allows; an adapter one of the adapters' libraries besides."""
    used = third_parties(source) - LAYERS[source.layer] - DOORS.get(source.module, frozenset())
    if source.layer != "adapters":
        assert not used
        return
    assert used <= ADAPTER_LIBRARIES
    assert len(used) == 2 if source.module in TWO_LIBRARIES else len(used) <= 1


@pytest.mark.parametrize(
    "source", [s for s in sources() if s.layer not in LAYERS], ids=lambda source: source.module
)
def test_everything_else_uses_what_is_declared(source: Source) -> None:
    """Apps join all layers, with libraries that pyproject.toml names: nothing is there by another
    package's grace.
    """
    assert third_parties(source) <= set(declared())


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.module)
def test_the_kubernetes_client_is_the_asynchronous_one(source: Source) -> None:
    """The synchronous client would block the event loop, and `import kubernetes` brings it in."""
    used = {name for name in source.imported() if name.partition(".")[0] == "kubernetes"}
    assert all(name.startswith("kubernetes.aio") for name in used)
