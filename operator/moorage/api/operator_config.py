"""OperatorConfiguration: what the operator as a whole is told, from a file, the environment and
flags.

Later sources win: defaults < file < environment < flags. Everything that is wrong is found at once.
Its parts are in ``operator_options``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from moorage.api import yaml_documents
from moorage.api.decoding import DecodeError, decoder, laid_over, shown
from moorage.api.duration_field import Duration
from moorage.api.operator_options import (
    AdmissionOptions,
    ClientConnectionOptions,
    ExtenderPolicy,
    LeaderElectionOptions,
    LoggingOptions,
    OptionsPart,
    PluginPackages,
    RecordingOptions,
    ServingOptions,
    to_come,
)
from moorage.api.v1alpha1.common import QualifiedName
from moorage.core.framework.arguments import Violation
from moorage.core.structures.likeness import suggest

ENVIRONMENT_PREFIX = "MOORAGE_CFG_"
"""Not MOORAGE_: Kubernetes itself sets MOORAGE_SERVICE_HOST and the like in pods beside a Service
of that name.
"""


# ---- the fields ----------------------------------------------------------------------------------


class OperatorConfiguration(OptionsPart):
    """What the operator as a whole is told."""

    api_version: Literal["config.moorage.dev/v1alpha1"] = "config.moorage.dev/v1alpha1"
    kind: Literal["OperatorConfiguration"] = "OperatorConfiguration"
    controller_name: QualifiedName = "moorage"
    """Serve the SchedulerProfiles that have this spec.controllerName."""
    mode: Literal["decider", "observer"] = "decider"
    """A decider places the pods of its profiles. An observer explains, records and simulates,
    beside whoever places them: it writes its Leases and its profiles' status, and nothing else.
    """
    leader_election: LeaderElectionOptions = LeaderElectionOptions()
    client_connection: ClientConnectionOptions = ClientConnectionOptions()
    serving: ServingOptions = ServingOptions()
    admission: AdmissionOptions = AdmissionOptions()
    queue_sort: Annotated[str, to_come("PrioritySort")] = "PrioritySort"
    """The plugin that orders the queue, one for all profiles."""
    percentage_of_nodes_to_score: Annotated[int, Field(ge=0, le=100)] = 100
    """For profiles that don't say. 0: kube-scheduler's adaptive rule."""
    pod_initial_backoff_seconds: Annotated[int, Field(ge=1, le=86400)] = 1
    """For profiles that don't say: how long a refused pod waits at first."""
    pod_max_backoff_seconds: Annotated[int, Field(ge=1, le=86400)] = 10
    """For profiles that don't say: how long it waits at most."""
    pod_max_in_unschedulable_pods_duration: Duration = 300.0
    """After this long a refused pod is tried again, whatever happened."""
    bind_concurrency: Annotated[int, Field(ge=1, le=4096)] = 64
    """Writes that ask the API server at once, and bindings of one profile that are under way."""
    swap_debounce: Duration = 0.2
    """How long to wait for further changes after one, so that objects applied together become one
    swap.
    """
    plugins: PluginPackages = PluginPackages()
    extenders: ExtenderPolicy = ExtenderPolicy()
    foreign_schedulers: Annotated[tuple[QualifiedName, ...], Field(max_length=256)] = ()
    """Names of other schedulers in the cluster: pods that wait for one of them are not asked
    whether they mean a profile.
    """
    enable_profiling: Annotated[bool, to_come(False)] = False
    """Serve /debug/profile."""
    delay_cache_until_active: Annotated[bool, to_come(False)] = False
    """Fill the cache only when leading: less memory in standbys, slower failover."""
    parallelism: Annotated[int, Field(ge=1)] | None = None
    """Has no effect; kube-scheduler has it."""
    logging: LoggingOptions = LoggingOptions()
    recording: RecordingOptions = RecordingOptions()

    @field_validator("pod_max_backoff_seconds")
    @classmethod
    def _not_below_initial(cls, value: int, info: ValidationInfo) -> int:
        initial = info.data.get("pod_initial_backoff_seconds")
        if initial is not None and value < initial:
            raise ValueError(
                f"must be greater than or equal to podInitialBackoffSeconds, which is {initial}"
            )
        return value

    @model_validator(mode="after")
    def _observes_alone(self) -> Self:
        if self.observes and self.admission.enabled:
            raise ValueError(
                "admission.enabled: True: must be false where mode is observer, which writes no "
                "certificate and refuses nobody's profiles"
            )
        return self

    @property
    def observes(self) -> bool:
        """Whether it decides nothing."""
        return self.mode == "observer"

    def warnings(self) -> list[str]:
        """What was set without effect."""
        if self.parallelism is None:
            return []
        return [
            f"parallelism: {self.parallelism}: has no effect: a cycle works on all nodes at once"
        ]


# ---- reading and writing -------------------------------------------------------------------------


class ConfigError(NamedTuple):
    """One fault: field path, value, what is wrong, and where the value came from ("" for a rule
    that defaults break).
    """

    path: str
    value: object
    message: str
    source: str = ""

    def __str__(self) -> str:
        what = f"{self.path}: {self.value!r}: " if self.path else ""
        return what + self.message + (f" (from {self.source})" if self.source else "")


class ConfigErrors(ValueError):
    """Everything that is wrong with a configuration."""

    def __init__(self, errors: list[ConfigError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(map(str, errors)))


def load_config(
    file_text: str | None, environ: Mapping[str, str], flags: Mapping[str, str]
) -> OperatorConfiguration:
    """The effective configuration. Raises ConfigErrors with all faults.

    ``file_text`` is the file's content, None without one; of ``environ`` the names with our prefix
    count; ``flags`` maps field paths (``leaderElection.leaseDuration``) to texts.
    """
    reader = decoder(OperatorConfiguration)
    given = _GivenSettings(reader.schema, file_text, environ, flags)
    try:
        # With the defaults, since what is left out would not be judged beside what is given.
        config = reader.decode(laid_over(reader.encode(OperatorConfiguration()), given.document))
    except DecodeError as error:
        raise ConfigErrors([*given.errors, *map(given.located, error.violations)]) from error
    if given.errors:
        raise ConfigErrors(given.errors)
    return config


def dump_config(config: OperatorConfiguration) -> str:
    """The configuration as a file that ``load_config`` reads; what is unset is left out."""
    return yaml_documents.dump(config.model_dump(mode="json", by_alias=True, exclude_none=True))


class _GivenSettings:
    """What file, environment and flags say, as one ``document`` in which later ones win."""

    def __init__(
        self,
        schema: Mapping[str, Any],
        file_text: str | None,
        environ: Mapping[str, str],
        flags: Mapping[str, str],
    ) -> None:
        self.document, self.errors = _read_file(file_text) if file_text is not None else ({}, [])
        self._fields = dict(fields_of(schema))
        self._sources: dict[str, str] = {}
        self._take_environment(environ)
        for path, text in flags.items():
            self._put(path, text, "flag")

    def located(self, violation: Violation) -> ConfigError:
        """The fault, with where its value came from."""
        document: Any = self.document
        for name in violation.path.split("."):
            document = document.get(name.partition("[")[0]) if isinstance(document, dict) else None
        field, _, _ = violation.path.partition("[")
        source = self._sources.get(field, "" if document is None else "file")
        return ConfigError(violation.path, violation.value, violation.message, source)

    def _take_environment(self, environ: Mapping[str, str]) -> None:
        by_variable = {environment_variable(path): path for path in self._fields}
        for name in sorted(environ):
            if name in by_variable:
                self._put(by_variable[name], environ[name], name)
            elif name.startswith(ENVIRONMENT_PREFIX):
                text = f"unknown setting{suggest(name, by_variable)}"
                self.errors.append(ConfigError(name, shown(environ[name]), text, "environment"))

    def _put(self, path: str, text: str, source: str) -> None:
        """Set a field. Where the file has something else than an object on the way, it stays: that
        is an error by itself.
        """
        self._sources[path] = source
        *parents, last = path.split(".")
        place: Any = self.document
        for name in parents:
            place = place.setdefault(name, {})
            if not isinstance(place, dict):
                return
        place[last] = _value(text, self._fields[path])


def _read_file(text: str) -> tuple[dict[str, Any], list[ConfigError]]:
    """The document and what is wrong with it as a whole."""
    try:
        found = yaml_documents.load_all(text)
    except yaml_documents.DocumentError as error:
        return {}, [ConfigError("", None, str(error), "file")]
    if len(found) != 1 or not isinstance(found[0], dict):
        text = "there has to be one document, an OperatorConfiguration"
        return {}, [ConfigError("", shown(found), text, "file")]
    missing = [
        ConfigError(name, None, "Required value", "file")
        for name in ("apiVersion", "kind")
        if name not in found[0]
    ]
    return found[0], missing


def fields_of(
    schema: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every field that has a value of its own, by path, with its schema."""
    for name, node in schema.get("properties", {}).items():
        if "properties" in node:
            yield from fields_of(node, f"{prefix}{name}.")
        elif prefix + name not in ("apiVersion", "kind"):
            yield prefix + name, node


def environment_variable(path: str) -> str:
    """The environment variable of a field: MOORAGE_CFG_LEADER_ELECTION__LEASE_DURATION."""
    return ENVIRONMENT_PREFIX + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", path).replace(".", "__").upper()


def _value(text: str, schema: Mapping[str, Any]) -> object:
    """What a text means for a field; one that doesn't fit stays text, which is then refused as
    such.
    """
    kind = schema.get("type")
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower(), text)
    if kind == "integer" and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if kind == "number" and re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]+)?", text):
        return float(text)
    if kind == "array":
        return text.split(",") if text else []
    return text
