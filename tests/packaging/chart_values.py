"""The places of our objects that values of the Helm chart fill. chart.py makes the chart of them.

What stands at a place in variant `default` is the value's default. What another variant has there
is in its values file, such as values-ha.yaml. A variant differs nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tests.packaging.kustomizing import CONFIG_HASH, Body

Schema = Mapping[str, Any]

TEXT: Final[Schema] = {"type": "string"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
SWITCH: Final[Schema] = {"type": "boolean"}
LIST: Final[Schema] = {"type": "array", "items": {"type": "object"}}
MAP: Final[Schema] = {"type": "object"}
TEXTS: Final[Schema] = {"type": "object", "additionalProperties": {"type": "string"}}


class Value(NamedTuple):
    """A value that stands at a place of an object. ``place`` is a path of keys, and of names or
    indexes in lists, with `~1` for a slash; one
    that ends in `+` is what stands there beside what variant `default` has.
    """

    name: str
    of: tuple[str, str]
    place: str
    schema: Schema
    about: str = ""
    rendered: bool = False
    """Whether templates in it count."""

    @property
    def nothing(self) -> Any:
        """What it is where its place is not there."""
        return {"array": [], "object": {}, "boolean": False, "string": ""}[self.schema["type"]]


class Made(NamedTuple):
    """A place that the chart makes of several values, or of the release: ``text`` stands for it, or
    for its whole line when it has several lines.
    """

    of: tuple[str, str]
    place: str
    text: str


_DEPLOYMENT: Final = ("Deployment", "moorage")
_POD: Final = "spec/template/spec"
_MAIN: Final = f"{_POD}/containers/moorage"
_LEASE_NAMESPACE: Final = "MOORAGE_CFG_LEADER_ELECTION__RESOURCE_NAMESPACE"
_NAMESPACE: Final = ("Namespace", "moorage-system")
_SECURITY: Final = "metadata/labels/pod-security.kubernetes.io~1"
_PORT: Final = '{{{{ dig "{}" "{}" {} .Values.config | int }}}}'

VALUES: Final = (
    Value("replicas", _DEPLOYMENT, "spec/replicas", COUNT, "One decides, others take over."),
    Value("strategy", _DEPLOYMENT, "spec/strategy", MAP),
    Value(
        "schedulerName",
        _DEPLOYMENT,
        f"{_POD}/schedulerName",
        TEXT,
        "Who places the operator's own pods: no profile, or nobody would while it is down.",
    ),
    Value("priorityClassName", _DEPLOYMENT, f"{_POD}/priorityClassName", TEXT),
    Value("hostNetwork", _DEPLOYMENT, f"{_POD}/hostNetwork", SWITCH),
    Value("imagePullSecrets", _DEPLOYMENT, f"{_POD}/imagePullSecrets", LIST),
    Value("podAnnotations", _DEPLOYMENT, "spec/template/metadata/annotations/+", TEXTS),
    Value("podLabels", _DEPLOYMENT, "spec/template/metadata/labels/+", TEXTS),
    Value("nodeSelector", _DEPLOYMENT, f"{_POD}/nodeSelector", TEXTS),
    Value("tolerations", _DEPLOYMENT, f"{_POD}/tolerations", LIST),
    Value("affinity", _DEPLOYMENT, f"{_POD}/affinity", MAP, rendered=True),
    Value(
        "topologySpreadConstraints",
        _DEPLOYMENT,
        f"{_POD}/topologySpreadConstraints",
        LIST,
        rendered=True,
    ),
    Value("resources", _DEPLOYMENT, f"{_MAIN}/resources", MAP),
    Value("extraEnv", _DEPLOYMENT, f"{_MAIN}/env/+", LIST, "Beside what the operator needs."),
    Value(
        "namespace.podSecurity",
        _NAMESPACE,
        f"{_SECURITY}enforce",
        TEXT,
        "The level of pod security that it enforces.",
    ),
    Value(
        "networkPolicy.from",
        ("NetworkPolicy", "moorage"),
        "spec/ingress/0/from",
        LIST,
        "Who may read metrics and look inside.",
    ),
    *(
        Value(
            "monitoring.labels",
            (kind, "moorage"),
            "metadata/labels/+",
            TEXTS,
            "What your Prometheus selects monitors and rules by, such as `release`.",
        )
        for kind in ("ServiceMonitor", "PrometheusRule")
    ),
    *(
        Value(
            "namespacedLease.namespace",
            (kind, "moorage-lease"),
            "metadata/namespace",
            TEXT,
            "Where the Lease and the stored revisions are; it is there already.",
        )
        for kind in ("Role", "RoleBinding")
    ),
)

MADE: Final = (
    Made(_DEPLOYMENT, f"{_MAIN}/image", '{{ include "moorage.image" . }}'),
    Made(
        _DEPLOYMENT,
        f"{_MAIN}/ports/https/containerPort",
        _PORT.format("serving", "securePort", 10259),
    ),
    Made(
        _DEPLOYMENT,
        f"{_MAIN}/ports/admission/containerPort",
        _PORT.format("admission", "port", 10260),
    ),
    Made(
        _DEPLOYMENT,
        f"{_MAIN}/env/{_LEASE_NAMESPACE}/valueFrom",
        """\
{{- if .Values.namespacedLease.enabled }}
value: {{ .Values.namespacedLease.namespace | quote }}
{{- else }}
valueFrom:
  fieldRef:
    fieldPath: metadata.namespace
{{- end }}""",
    ),
    Made(
        _DEPLOYMENT,
        f"spec/template/metadata/annotations/{CONFIG_HASH.replace('/', '~1')}",
        '{{ include "moorage.config" . | sha256sum | quote }}',
    ),
    Made(
        ("ConfigMap", "moorage-config"),
        "data/config.yaml",
        """\
config.yaml: |
  {{- include "moorage.config" . | nindent 4 }}""",
    ),
    *(
        Made(
            of,
            f"webhooks/{webhook}.moorage.dev/clientConfig/caBundle",
            """\
{{- if not .Values.certManager.enabled }}
caBundle: {{ get (include "moorage.authority" . | fromYaml) "ca.crt" }}
{{- end }}""",
        )
        for of, webhook in (
            (("ValidatingWebhookConfiguration", "moorage"), "schedulerprofiles"),
            (("ValidatingWebhookConfiguration", "moorage"), "pluginconfigs"),
            (("MutatingWebhookConfiguration", "moorage-assign"), "assign"),
        )
    ),
    Made(
        ("ValidatingWebhookConfiguration", "moorage"),
        "webhooks/schedulerprofiles.moorage.dev/matchConditions/own/expression",
        "object.spec.?controllerName.orValue('moorage') == "
        "'{{ .Values.config.controllerName | default \"moorage\" }}'",
    ),
    *(
        Made(_NAMESPACE, f"{_SECURITY}{mode}", "{{ .Values.namespace.podSecurity | quote }}")
        for mode in ("audit", "warn")
    ),
)


PLACES: Final[tuple[Value | Made, ...]] = (*MADE, *VALUES)


def put(body: Body, place: str, value: object) -> None:
    """Set a place, which need not be there. `+` goes before the others of a list, and is a key of
    an object. Keys are put last: on the line of a list's dash a template has no room for `with`.
    """
    parent, last = _parent(body, place)
    if isinstance(parent, list):
        parent.insert(0, value)
    else:
        parent.pop(last, None)
        parent[last] = value


def take(body: Body, place: str, default: Body) -> Any:
    """Remove what stands at a place, and return it; None when nothing does. For `+` it is what
    ``default``, the same object in variant `default`, does not have.
    """
    parent, last = _parent(body, place)
    if last != "+":
        return parent.pop(last, None)
    usual, _ = _parent(default, place)
    if isinstance(parent, list):
        # kustomize puts what a patch adds to a list before the others
        more = len(parent) - len(usual)
        found, parent[:] = parent[:more], parent[more:]
        return found or None
    return {key: parent.pop(key) for key in [*parent] if key not in usual} or None


def _parent(body: Body, place: str) -> tuple[Any, str]:
    """What a place is in, and its key there."""
    *way, last = (step.replace("~1", "/") for step in place.split("/"))
    parent: Any = body
    for step in way:
        parent = _item(parent, step) if isinstance(parent, list) else parent[step]
    return parent, last


def _item(items: list[Any], step: str) -> Any:
    return items[int(step)] if step.isdigit() else next(one for one in items if one["name"] == step)
