"""Extenders of a SchedulerProfile: HTTP services that are asked about pods and nodes."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from moorage.api.duration_field import Duration
from moorage.api.v1alpha1.common import ATOMIC, NamedReference, SpecModel, Weight, rule, rules

Verb = Annotated[str, Field(max_length=253)]


class ExtenderTLS(SpecModel):
    """How to talk HTTPS to an extender."""

    insecure: bool = False
    """Allow HTTP, and HTTPS whose certificate nobody checks."""
    server_name: Annotated[str, Field(max_length=253)] | None = None
    """The name in the certificate, where it is not the URL's."""
    secret_ref: NamedReference | None = None
    """A Secret in the operator's namespace: ca.crt, and tls.crt with tls.key for a client
    certificate.
    """


class ManagedResource(SpecModel):
    """An extended resource that the extender looks after."""

    name: Annotated[str, Field(min_length=1, max_length=317)]
    """The resource's name."""
    ignored_by_scheduler: bool = False
    """Whether NodeResourcesFit is to ignore it."""


_INSECURE = "has(self.tlsConfig) && has(self.tlsConfig.insecure) && self.tlsConfig.insecure"


class ProfileExtender(SpecModel):
    """An HTTP service to ask, as in KubeSchedulerConfiguration."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "!has(self.prioritizeVerb) || self.prioritizeVerb == ''"
                " || (has(self.weight) && self.weight > 0)",
                "an extender with a prioritizeVerb needs a weight of 1 or more",
                "weight",
            ),
            rule(
                f"!self.urlPrefix.startsWith('http://') || ({_INSECURE})",
                "nobody knows who answers HTTP: use https, or set tlsConfig.insecure",
                "urlPrefix",
            ),
            rule(
                f"({_INSECURE}) || (has(self.tlsConfig) && has(self.tlsConfig.secretRef))",
                "a Secret in the operator's namespace with the CA as ca.crt has to be named in"
                " tlsConfig.secretRef, or tlsConfig.insecure to be set",
            ),
            rule(
                "!self.urlPrefix.startsWith('http://')"
                " || !has(self.enableHTTPS) || !self.enableHTTPS",
                "urlPrefix has to begin with https:// where enableHTTPS is set",
                "enableHTTPS",
            ),
        )
    )

    url_prefix: Annotated[str, Field(min_length=1, max_length=2048)]
    """Where it is; verbs are appended."""
    filter_verb: Verb = ""
    """Empty: it does not filter."""
    prioritize_verb: Verb = ""
    """Empty: it does not score."""
    preempt_verb: Verb = ""
    """Empty: it has no say in preemption."""
    bind_verb: Verb = ""
    """Empty: it does not bind. One extender of a profile may."""
    weight: Weight = 0
    """Of its scores; needed with prioritizeVerb."""
    enable_https: bool = Field(default=False, alias="enableHTTPS")
    """Whether to use HTTPS."""
    tls_config: ExtenderTLS | None = None
    """Certificates."""
    http_timeout: Duration | None = Field(default=None, alias="httpTimeout")
    """How long to wait for an answer; 5s when unset."""
    node_cache_capable: bool = False
    """Whether to send it names of nodes instead of whole nodes."""
    managed_resources: Annotated[
        tuple[ManagedResource, ...], Field(max_length=64, json_schema_extra=ATOMIC)
    ] = ()
    """When set, it is asked only about pods that want one of them."""
    ignorable: bool = False
    """Whether scheduling goes on without it when it fails."""
