"""A custom resource with each way of owning fields, as the recordings in recorded_owners.json were made with; and a piece of Deployment."""

from __future__ import annotations

from towtank.model.kinds import Resource
from towtank.model.nodes import Merge, Node

STRING = Node(type="string")
INTEGER = Node(type="integer")


def struct(**properties: Node) -> Node:
    """An object whose fields have owners each."""
    return Node(type="object", merge=Merge.GRANULAR, properties=properties)


def mapping(values: Node, merge: Merge = Merge.GRANULAR) -> Node:
    """A map."""
    return Node(type="object", merge=merge, additional=values)


def listing(items: Node, *keys: str, merge: Merge | None = None, patch_key: str = "") -> Node:
    """A list, that merges by keys when there are any."""
    strategies = ("merge",) if patch_key else ()
    how = merge or (Merge.MAP if keys else Merge.ATOMIC)
    return Node(type="array", items=items, merge=how, keys=keys, patch_key=patch_key, patch_strategies=strategies)


FINALIZERS = Node(type="array", items=STRING, merge=Merge.SET, patch_strategies=("merge",))
OWNER = Node(type="object", merge=Merge.ATOMIC, properties=dict.fromkeys(("apiVersion", "kind", "name", "uid"), STRING), required=("uid",))
METADATA = struct(
    **dict.fromkeys(("name", "namespace", "uid", "resourceVersion", "creationTimestamp"), STRING),
    generation=INTEGER,
    labels=mapping(STRING),
    annotations=mapping(STRING),
    finalizers=FINALIZERS,
    ownerReferences=listing(OWNER, "uid", patch_key="uid"),
    managedFields=listing(Node(type="object", preserve_unknown=True)),
)
ITEM = struct(k=STRING, n=Node(type="integer", default=1, has_default=True), v=STRING, o=struct(p=STRING))
SPEC = struct(
    a=STRING,
    n=INTEGER,
    at=listing(STRING),
    set=listing(STRING, merge=Merge.SET),
    m=listing(ITEM, "k", "n"),
    gm=mapping(STRING),
    am=mapping(STRING, Merge.ATOMIC),
    any=Node(type="object", merge=Merge.GRANULAR, preserve_unknown=True),
    mo=mapping(struct(q=STRING, r=STRING)),
)
SCHEMA = struct(apiVersion=STRING, kind=STRING, metadata=METADATA, spec=SPEC, status=struct(s=STRING, l=mapping(STRING)))
THINGS = Resource("x.io", "v1", "ts", "T", has_status=True, schema=SCHEMA, custom=True)

_ENVIRONMENT = listing(struct(name=STRING, value=STRING), "name", patch_key="name")
_PORT = struct(name=STRING, containerPort=INTEGER, protocol=STRING)
_CONTAINER = struct(
    name=STRING,
    image=STRING,
    args=listing(STRING),
    env=_ENVIRONMENT,
    ports=listing(_PORT, "containerPort", "protocol", patch_key="containerPort"),
)
_VOLUME = struct(name=STRING, emptyDir=struct(), hostPath=struct(path=STRING))
_POD = struct(
    containers=listing(_CONTAINER, "name", patch_key="name"),
    volumes=listing(_VOLUME, "name", patch_key="name"),
    imagePullSecrets=listing(struct(name=STRING), "name", patch_key="name"),
    nodeSelector=mapping(STRING, Merge.ATOMIC),
    tolerations=listing(struct(key=STRING)),
    affinity=struct(nodeAffinity=struct()),
)
DEPLOYMENT = struct(
    apiVersion=STRING,
    kind=STRING,
    metadata=METADATA,
    spec=struct(
        replicas=INTEGER,
        strategy=struct(type=STRING, rollingUpdate=struct(maxSurge=INTEGER, maxUnavailable=INTEGER)),
        template=struct(spec=_POD),
    ),
)
