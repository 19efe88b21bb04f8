"""A throw-away Kubernetes control plane on loopback, for tests and demos: a real API server and
etcd, or the embedded cluster.
"""

from tests.rig.audits import AuditEvent, Bind, binds
from tests.rig.base import ControlPlane
from tests.rig.controlplanes import Rig
from tests.rig.embedded import DevRig
from tests.rig.kwok import Kwok
from tests.rig.processes import RigError

__all__ = ["AuditEvent", "Bind", "ControlPlane", "DevRig", "Kwok", "Rig", "RigError", "binds"]
