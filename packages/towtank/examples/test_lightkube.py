"""lightkube: server-side apply, and a conflict between two field managers."""

import pytest
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import ConfigMap

from towtank.pytest_plugin import NamespacedCluster


def settings(colour: str) -> ConfigMap:
    return ConfigMap(
        apiVersion="v1",
        kind="ConfigMap",
        metadata=ObjectMeta(name="settings"),
        data={"colour": colour},
    )


def test_two_managers_cannot_both_own_a_field(cluster: NamespacedCluster) -> None:
    client = Client(KubeConfig.from_file(cluster.kubeconfig))
    client.apply(settings("blue"), field_manager="one")
    with pytest.raises(ApiError, match='conflict with "one"'):
        client.apply(settings("red"), field_manager="two")
    client.apply(settings("red"), field_manager="two", force=True)
    assert client.get(ConfigMap, "settings").data == {"colour": "red"}
