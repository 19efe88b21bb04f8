"""A throw-away Kubernetes control plane on loopback, for tests and demos: real API server, real etcd, no cluster."""

from tests.rig.audits import AuditEvent, Bind, binds
from tests.rig.controlplanes import Rig
from tests.rig.kwok import Kwok
from tests.rig.processes import RigError

__all__ = ["AuditEvent", "Bind", "Kwok", "Rig", "RigError", "binds"]
