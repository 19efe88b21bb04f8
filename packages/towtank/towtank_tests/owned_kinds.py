"""A custom resource with each way of owning fields, as the recordings in recorded_owners.json were
made with; and a piece of Deployment.
"""

from __future__ import annotations

from towtank.model.kinds import APIResource
from towtank.model.schema_nodes import MergeType, SchemaNode

STRING = SchemaNode(type="string")
INTEGER = SchemaNode(type="integer")


def struct(**properties: SchemaNode) -> SchemaNode:
    """An object whose fields have owners each."""
    return SchemaNode(type="object", merge=MergeType.GRANULAR, properties=properties)


def mapping(values: SchemaNode, merge: MergeType = MergeType.GRANULAR) -> SchemaNode:
    """A map."""
    return SchemaNode(type="object", merge=merge, additional=values)


def listing(
    items: SchemaNode, *keys: str, merge: MergeType | None = None, patch_key: str = ""
) -> SchemaNode:
    """A list, that merges by keys when there are any."""
    strategies = ("merge",) if patch_key else ()
    how = merge or (MergeType.MAP if keys else MergeType.ATOMIC)
    return SchemaNode(
        type="array",
        items=items,
        merge=how,
        keys=keys,
        patch_key=patch_key,
        patch_strategies=strategies,
    )


FINALIZERS = SchemaNode(
    type="array", items=STRING, merge=MergeType.SET, patch_strategies=("merge",)
)
OWNER = SchemaNode(
    type="object",
    merge=MergeType.ATOMIC,
    properties=dict.fromkeys(("apiVersion", "kind", "name", "uid"), STRING),
    required=("uid",),
)
METADATA = struct(
    **dict.fromkeys(("name", "namespace", "uid", "resourceVersion", "creationTimestamp"), STRING),
    generation=INTEGER,
    labels=mapping(STRING),
    annotations=mapping(STRING),
    finalizers=FINALIZERS,
    ownerReferences=listing(OWNER, "uid", patch_key="uid"),
    managedFields=listing(SchemaNode(type="object", preserve_unknown=True)),
)
ITEM = struct(
    k=STRING,
    n=SchemaNode(type="integer", default=1, has_default=True),
    v=STRING,
    o=struct(p=STRING),
)
SPEC = struct(
    a=STRING,
    n=INTEGER,
    at=listing(STRING),
    set=listing(STRING, merge=MergeType.SET),
    m=listing(ITEM, "k", "n"),
    gm=mapping(STRING),
    am=mapping(STRING, MergeType.ATOMIC),
    any=SchemaNode(type="object", merge=MergeType.GRANULAR, preserve_unknown=True),
    mo=mapping(struct(q=STRING, r=STRING)),
)
SCHEMA = struct(
    apiVersion=STRING,
    kind=STRING,
    metadata=METADATA,
    spec=SPEC,
    status=struct(s=STRING, l=mapping(STRING)),
)
THINGS = APIResource("x.io", "v1", "ts", "T", has_status=True, schema=SCHEMA, custom=True)

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
    nodeSelector=mapping(STRING, MergeType.ATOMIC),
    tolerations=listing(struct(key=STRING)),
    affinity=struct(nodeAffinity=struct()),
)
DEPLOYMENT = struct(
    apiVersion=STRING,
    kind=STRING,
    metadata=METADATA,
    spec=struct(
        replicas=INTEGER,
        strategy=struct(
            type=STRING, rollingUpdate=struct(maxSurge=INTEGER, maxUnavailable=INTEGER)
        ),
        template=struct(spec=_POD),
    ),
)
