"""The official client: a Deployment gets its pods, and a pod that is bound runs."""

from kubernetes import client, config, watch

from towtank.pytest_plugin import NamespacedCluster

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"nodeName": "node-a1", "containers": [{"name": "web", "image": "nginx"}]},
        },
    },
}


def test_a_deployment_becomes_available(cluster: NamespacedCluster) -> None:
    api = config.new_client_from_config(str(cluster.kubeconfig))
    apps = client.AppsV1Api(api)
    apps.create_namespaced_deployment(cluster.namespace, DEPLOYMENT)

    changes = watch.Watch()
    for change in changes.stream(
        apps.list_namespaced_deployment, cluster.namespace, timeout_seconds=10
    ):
        if change["object"].status.available_replicas == 2:
            changes.stop()

    pods = client.CoreV1Api(api).list_namespaced_pod(cluster.namespace).items
    assert [pod.status.phase for pod in pods] == ["Running", "Running"]
    api.close()
