"""The official client, asynchronous. The cluster is this test's own and runs in its event loop,
without any fixture.
"""

import asyncio

from kubernetes.aio import client, config

from towtank import Cluster, ClusterSettings, ControllerSettings, like_nodes

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "one", "image": "busybox"}]},
}


async def bind_and_read() -> str:
    """The phase of a pod after this test has done a scheduler's work, and a kubelet's: no
    controller runs.
    """
    settings = ClusterSettings(nodes=like_nodes(1), controllers=ControllerSettings.none())
    async with Cluster(settings) as cluster:
        namespace = await cluster.namespace(prefix="test-")
        async with await config.new_client_from_config(str(cluster.kubeconfig)) as api:
            core = client.CoreV1Api(api)
            await core.create_namespaced_pod(namespace, POD)
            target = {"apiVersion": "v1", "kind": "Node", "name": "node-a1"}
            binding = {"metadata": {"name": "one"}, "target": target}
            await core.create_namespaced_binding_without_preload_content(namespace, binding)
            await core.patch_namespaced_pod_status(
                "one", namespace, {"status": {"phase": "Running"}}
            )
            pod = await core.read_namespaced_pod("one", namespace)
            assert pod.spec.node_name == "node-a1"
            return str(pod.status.phase)


def test_a_pod_runs_when_the_test_says_so() -> None:
    assert asyncio.run(bind_and_read()) == "Running"
