"""kr8s: a ConfigMap is created, labelled and found, in the namespace that the kubeconfig names."""

import kr8s
from kr8s.objects import ConfigMap

from towtank.pytest_plugin import NamespacedCluster


def test_a_config_map_is_found_by_its_label(cluster: NamespacedCluster) -> None:
    api = kr8s.api(kubeconfig=str(cluster.kubeconfig))
    settings = ConfigMap({"metadata": {"name": "settings"}, "data": {"colour": "blue"}}, api=api)
    settings.create()
    settings.label(app="web")

    (found,) = api.get("configmaps", label_selector={"app": "web"})
    assert found.raw["data"] == {"colour": "blue"}
    assert found.namespace == cluster.namespace
