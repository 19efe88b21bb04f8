"""Host ports, naively: every pair of ports is compared. What NodePorts must agree with."""

from __future__ import annotations

from moorage.core.objects.pods import ContainerPort, Pod


def ports(pod: Pod) -> list[ContainerPort]:
    """The ports that a pod takes on its host."""
    lasting = [one for one in pod.spec.init_containers or () if one.restart_policy == "Always"]
    return [
        port
        for one in [*(pod.spec.containers or ()), *lasting]
        for port in one.ports or ()
        if port.host_port > 0
    ]


def refused(pod: Pod, there: list[Pod]) -> bool:
    """Whether a pod that is there holds a port that this pod wants."""
    for mine in ports(pod):
        for theirs in [port for other in there for port in ports(other)]:
            ips = {mine.host_ip or "0.0.0.0", theirs.host_ip or "0.0.0.0"}
            same = mine.host_port == theirs.host_port and (mine.protocol or "TCP") == (
                theirs.protocol or "TCP"
            )
            if same and (len(ips) == 1 or "0.0.0.0" in ips):
                return True
    return False
