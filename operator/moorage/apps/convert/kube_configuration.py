"""KubeSchedulerConfiguration v1 as a document: its fields, their types and what they are when they
are left out.

Only what kube-scheduler refuses while it decodes is refused here; ``validation`` has the rest. As
in Go, null is the same as absent and the zero value of many fields means their default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from moorage.api import duration_field

API_GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{API_GROUP}/v1"
KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER = "default-scheduler"


def _or(default: object) -> AfterValidator:
    """For a field whose zero value means its default."""
    return AfterValidator(lambda value: value or default)


def _seconds(value: object) -> float:
    return value if isinstance(value, float) else duration_field.parse_signed(value)


_Seconds: TypeAlias = Annotated[
    float,
    BeforeValidator(_seconds, json_schema_input_type=str),
    PlainSerializer(duration_field.text_of),
]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)


class PluginEntry(_Part):
    """A plugin in a list."""

    name: str = ""
    weight: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0


class KubePluginSet(_Part):
    """What to enable and disable at an extension point."""

    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[PluginEntry, ...] = ()


class KubePlugins(_Part):
    """Plugins by extension point, as in a KubeSchedulerProfile."""

    multi_point: KubePluginSet = KubePluginSet()
    pre_enqueue: KubePluginSet = KubePluginSet()
    queue_sort: KubePluginSet = KubePluginSet()
    pre_filter: KubePluginSet = KubePluginSet()
    filter: KubePluginSet = KubePluginSet()
    post_filter: KubePluginSet = KubePluginSet()
    pre_score: KubePluginSet = KubePluginSet()
    score: KubePluginSet = KubePluginSet()
    reserve: KubePluginSet = KubePluginSet()
    permit: KubePluginSet = KubePluginSet()
    pre_bind: KubePluginSet = KubePluginSet()
    bind: KubePluginSet = KubePluginSet()
    post_bind: KubePluginSet = KubePluginSet()
    pod_group_post_filter: KubePluginSet = KubePluginSet()
    placement_generate: KubePluginSet = KubePluginSet()
    placement_score: KubePluginSet = KubePluginSet()

    def at(self, point: str) -> KubePluginSet:
        """The set of an extension point, by its name in documents."""
        return self.by_point()[point]

    def by_point(self) -> dict[str, KubePluginSet]:
        """All sets by the names that they have in documents."""
        return {
            field.alias or name: getattr(self, name)
            for name, field in type(self).model_fields.items()
        }


class KubePluginConfig(_Part):
    """A plugin's arguments, whatever they look like."""

    name: str = ""
    args: Any = None


class KubeSchedulerProfile(_Part):
    """One way to schedule."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: int | None = None
    plugins: KubePlugins = KubePlugins()
    plugin_config: tuple[KubePluginConfig, ...] = ()


class ExtenderManagedResource(_Part):
    """An extended resource that an extender looks after."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(_Part):
    """An extender's certificates: whether they are checked, and against what."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: str = ""
    key_data: str = ""
    ca_data: str = ""


class ExtenderConfiguration(_Part):
    """An HTTP service to ask."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = Field(default=False, alias="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Annotated[_Seconds, _or(5.0)] = Field(default=5.0, alias="httpTimeout")
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class LeaderElectionConfiguration(_Part):
    """The settings by which replicas agree which one schedules."""

    leader_elect: bool = True
    lease_duration: Annotated[_Seconds, _or(15.0)] = 15.0
    renew_deadline: Annotated[_Seconds, _or(10.0)] = 10.0
    retry_period: Annotated[_Seconds, _or(2.0)] = 2.0
    resource_lock: Annotated[str, _or("leases")] = "leases"
    resource_name: Annotated[str, _or("kube-scheduler")] = "kube-scheduler"
    resource_namespace: Annotated[str, _or("kube-system")] = "kube-system"


class ClientConnectionConfiguration(_Part):
    """How to reach the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: Annotated[str, _or("application/vnd.kubernetes.protobuf")] = (
        "application/vnd.kubernetes.protobuf"
    )
    qps: Annotated[float, _or(50.0)] = 50.0
    burst: Annotated[int, _or(100)] = 100


class KubeSchedulerConfiguration(_Part):
    """The whole of it."""

    api_version: str = API_VERSION
    kind: str = KIND
    parallelism: int = 16
    leader_election: LeaderElectionConfiguration = LeaderElectionConfiguration()
    client_connection: ClientConnectionConfiguration = ClientConnectionConfiguration()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: int = 0
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[ExtenderConfiguration, ...] = ()
    delay_cache_until_active: bool = False

    def defaulted(self) -> KubeSchedulerConfiguration:
        """With a profile if there is none. One without a name gets the default one only when it
        stands alone.
        """
        profiles = self.profiles or (KubeSchedulerProfile(),)
        if len(profiles) == 1 and profiles[0].scheduler_name is None:
            profiles = (profiles[0].model_copy(update={"scheduler_name": DEFAULT_SCHEDULER}),)
        return self.model_copy(update={"profiles": profiles})


def without_nulls(document: Any) -> Any:
    """The document as Go sees it: a field that is null is not there, an item that is null is an
    empty one.
    """
    if isinstance(document, Mapping):
        return {name: without_nulls(value) for name, value in document.items() if value is not None}
    if isinstance(document, list):
        return [{} if item is None else without_nulls(item) for item in document]
    return document
