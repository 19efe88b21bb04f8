"""The embedded cluster's data, against the kube-apiserver that they are of."""

from __future__ import annotations

import shutil

import pytest

from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.controlplanes import minor_version
from tests.tools import openapi, protobuf


@pytest.mark.real_only
def test_the_data_of_built_in_kinds_are_those_of_the_api_server(rig: Rig) -> None:
    """Otherwise: ``python -m tests.tools.openapi``."""
    if minor_version(rig.assets) != (1, 37):
        pytest.skip("the embedded cluster answers as 1.37")
    client = Client(rig)
    texts = openapi.written(*openapi.facts(client))
    client.close()
    assert {name: (openapi.DATA / name).read_text(encoding="utf-8") for name in texts} == texts


@pytest.mark.real_only
def test_the_data_of_messages_are_those_of_kubernetes_modules(rig: Rig) -> None:
    """Otherwise: ``python -m tests.tools.protobuf``. Go has fetched the modules to build what
    ``rig`` runs.
    """
    if shutil.which("go") is None:
        pytest.skip("Go is not here, which knows where its modules are")
    assert (openapi.DATA / "messages.json").read_text(encoding="utf-8") == protobuf.written(
        protobuf.folders()
    )
