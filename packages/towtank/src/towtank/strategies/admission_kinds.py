"""Webhook configurations and policies of admission: they are stored, and nobody asks them."""

from __future__ import annotations

from towtank.model.kinds import Body, Strategy
from towtank.strategies.common import at, fill


class WebhookConfigurationStrategy(Strategy):
    """Webhook configurations, both kinds."""

    conditional = True

    def default(self, body: Body) -> None:
        """All objects, ten seconds, and failing closed; one that mutates is asked once."""
        for webhook in body.get("webhooks") or ():
            fill(webhook, {"failurePolicy": "Fail", "timeoutSeconds": 10})
            if body["kind"] == "MutatingWebhookConfiguration":
                fill(webhook, {"reinvocationPolicy": "Never"})
            if service := at(webhook, "clientConfig.service"):
                fill(service, {"port": 443})
            _fill_match(webhook, "rules")


class MutatingAdmissionPolicyStrategy(Strategy):
    """MutatingAdmissionPolicies."""

    conditional = True

    def default(self, body: Body) -> None:
        """Failing closed."""
        spec = body.get("spec") or {}
        fill(spec, {"failurePolicy": "Fail"})
        _fill_match(spec.get("matchConstraints"), "resourceRules", "excludeResourceRules")


class MutatingAdmissionPolicyBindingStrategy(Strategy):
    """MutatingAdmissionPolicyBindings."""

    conditional = True

    def default(self, body: Body) -> None:
        """What it leaves of its policy's matches is all objects, unless it says less."""
        _fill_match(at(body, "spec.matchResources"), "resourceRules", "excludeResourceRules")


def _fill_match(match: Body | None, *rules: str) -> None:
    """What is said of objects matches all of them, and all scopes."""
    if match is None:
        return
    fill(match, {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}})
    for field in rules:
        for rule in match.get(field) or ():
            fill(rule, {"scope": "*"})
