"""The parts of an OperatorConfiguration, with the rules within each.

Rules between fields stand at the later field, so that they are judged whenever both fields are
readable.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel

from moorage.api import duration_field
from moorage.api.duration_field import Duration
from moorage.api.v1alpha1.common import ObjectName

MIN_RECORDING_SECONDS = 600.0
"""A ring is parted, and a part holds some whole states, of which there is one a minute."""
JITTER = 1.2
"""The retry period is drawn out by up to this factor."""


def to_come(default: object) -> AfterValidator:
    """For a setting that is not built yet: anything but its default is refused, so that none is
    ignored.
    """

    def check(value: Any) -> Any:
        if value != default:
            raise ValueError("is not supported yet")
        return value

    return AfterValidator(check)


class OptionsPart(BaseModel):
    """Fields that are written in camelCase; others are refused."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, use_attribute_docstrings=True
    )


class LeaderElectionOptions(OptionsPart):
    """Which of several replicas decides."""

    leader_elect: bool = True
    """Whether to decide only while holding the Lease. Without it, there must be one replica
    only.
    """
    lease_duration: Duration = 15.0
    """How long others wait after the leader's last renewal before they take over."""
    renew_deadline: Duration = 10.0
    """How long the leader tries to renew before it gives up; less than leaseDuration."""
    retry_period: Duration = 2.0
    """How long to wait between tries; 1.2 times of it is less than renewDeadline."""
    replace_default_scheduler: bool = False
    """Allow kube-scheduler's own Lease, kube-system/kube-scheduler: for a cluster in which this
    operator stands for it.
    """
    resource_name: ObjectName = "moorage"
    """The Lease's name."""
    resource_namespace: ObjectName = "moorage-system"
    """The Lease's namespace; stored revisions are kept there too."""

    @field_validator("lease_duration", "renew_deadline", "retry_period")
    @classmethod
    def _positive(cls, value: float, info: ValidationInfo) -> float:
        if info.data.get("leader_elect") and value <= 0:
            raise ValueError("must be greater than zero")
        return value

    @field_validator("renew_deadline")
    @classmethod
    def _shorter_than_lease(cls, value: float, info: ValidationInfo) -> float:
        lease = info.data.get("lease_duration")
        if info.data.get("leader_elect") and lease is not None and value >= lease:
            raise ValueError(
                f"must be less than leaseDuration, which is {duration_field.text_of(lease)}"
            )
        return value

    @field_validator("retry_period")
    @classmethod
    def _fits_into_deadline(cls, value: float, info: ValidationInfo) -> float:
        deadline = info.data.get("renew_deadline")
        if info.data.get("leader_elect") and deadline is not None and value * JITTER >= deadline:
            raise ValueError(
                f"{JITTER} times of it must be less than renewDeadline, which is "
                f"{duration_field.text_of(deadline)}"
            )
        return value

    @field_validator("resource_namespace")
    @classmethod
    def _not_kube_schedulers(cls, value: str, info: ValidationInfo) -> str:
        lease = (value, info.data.get("resource_name"))
        if (
            lease == ("kube-system", "kube-scheduler")
            and info.data.get("replace_default_scheduler") is False
        ):
            raise ValueError(
                "kube-system/kube-scheduler is kube-scheduler's Lease: set "
                "replaceDefaultScheduler to take its place"
            )
        return value


class ClientConnectionOptions(OptionsPart):
    """How to reach the API server."""

    kubeconfig: str = ""
    """A kubeconfig file; empty: the pod's service account."""
    master: str = ""
    """The API server's address, instead of the kubeconfig's."""
    qps: Annotated[float | None, to_come(None)] = None
    """Requests per second; unset: no limit of ours, the server's priority and fairness governs."""
    burst: Annotated[int | None, to_come(None)] = None
    """How many of them at once."""


class ServingOptions(OptionsPart):
    """Where health, metrics and looks inside are served, over HTTPS."""

    bind_address: str = "0.0.0.0"  # noqa: S104 - probes and Prometheus come from outside the pod
    """The address to listen at."""
    secure_port: Annotated[int, Field(ge=0, le=65535)] = 10259
    """The port; 0 takes any free one."""
    cert_file: str = ""
    """The certificate, with those that vouch for it, in PEM; read again when it changes. Empty: one
    of its own, signed by itself.
    """
    key_file: str = ""
    """The certificate's key."""

    @field_validator("key_file")
    @classmethod
    def _both_or_none(cls, value: str, info: ValidationInfo) -> str:
        if "cert_file" in info.data and bool(value) is not bool(info.data["cert_file"]):
            raise ValueError("certFile and keyFile belong together: set both or none")
        return value


class AdmissionOptions(OptionsPart):
    """Whether profiles and PluginConfigs are judged before they are stored, and where API servers
    ask.
    """

    enabled: bool = False
    """Answer the API servers' admission reviews, over HTTPS, as soon as the Secret is there."""
    port: Annotated[int, Field(ge=0, le=65535)] = 10260
    """The port for that, at serving.bindAddress; 0 takes any free one."""
    namespace: ObjectName | None = None
    """The namespace of the Service and the Secret. Unset: the Lease's."""
    service_name: ObjectName | None = None
    """The Service by which API servers reach it: the certificate is for its name. Unset: the
    Lease's name and -admission.
    """
    secret_name: ObjectName | None = None
    """The Secret with the certificate (tls.crt, tls.key) and what signs it (ca.crt, ca.key);
    without a ca.key, somebody else renews the certificate. Unset: the Lease's name and
    -admission-tls.
    """


class PluginPackages(OptionsPart):
    """Plugins from outside the tree."""

    packages: tuple[
        Annotated[
            str,
            Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$", max_length=253),
        ],
        ...,
    ] = ()
    """Python packages that hold plugins, by the name that `import` takes."""

    @field_validator("packages")
    @classmethod
    def _once_each(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if twice := next((name for i, name in enumerate(value) if name in value[:i]), None):
            raise ValueError(f"{twice} is named twice")
        return value


class ExtenderPolicy(OptionsPart):
    """What profiles may ask of extenders."""

    allowed_hosts: tuple[
        Annotated[str, Field(pattern=r"^(\*|(\*\.)?[A-Za-z0-9._:-]+)$", max_length=253)], ...
    ] = ()
    """Hosts that extenders may be at, by name or address; *.NAME for all below a name, * for all.
    None by default.
    """


class RecordingOptions(OptionsPart):
    """A recording of all that was decided, and from what, by the replica that leads."""

    directory: str = ""
    """The folder in which files are kept, made where it is missing; empty: nothing is recorded.
    Each replica has one of its own.
    """
    max_bytes: Annotated[int, Field(ge=64 * 1024**2)] = 1024**3
    """How much they may take together; the oldest are removed."""
    max_age: Duration = 86400.0
    """How long they are kept."""

    @field_validator("max_age")
    @classmethod
    def _at_least_minutes(cls, value: float) -> float:
        if value < MIN_RECORDING_SECONDS:
            raise ValueError("must be at least 10m")
        return value


class LoggingOptions(OptionsPart):
    """The log, on stderr."""

    format: Literal["text", "json"] = "text"
    """One line for people, or one JSON object."""
    verbosity: Annotated[int, Field(ge=0, le=10)] = 0
    """0: little, 2: every decision, 4: debugging."""
