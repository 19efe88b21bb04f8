"""The one door to this package: documents that kube-scheduler has long dropped, as configurations
v1.

``apps.convert.convert`` alone uses it. To drop the package: delete it, what that module does with
it, and `--algorithm-provider`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moorage.api.decoding import DecodeError
from moorage.apps.convert.legacy import policy, v1alpha1, v1beta
from moorage.apps.convert.legacy.policy_tables import PROVIDERS
from moorage.apps.convert.remarks import ConversionRemark
from moorage.core.framework.arguments import Violation

__all__ = [
    "PROVIDERS",
    "VERSIONS",
    "LegacyDocument",
    "LegacyReader",
    "is_policy",
    "provider_configuration",
]

VERSIONS = v1beta.OLDER
is_policy = policy.is_policy
provider_configuration = policy.provider


@dataclasses.dataclass(frozen=True, slots=True)
class LegacyDocument:
    """What a document comes to: a configuration v1, or what is wrong with it, or neither where it
    only points to a Policy.
    """

    body: Mapping[str, Any] | None = None
    remarks: Sequence[ConversionRemark] = ()
    """About the configuration, should it be one that can be converted."""
    warnings: Sequence[ConversionRemark] = ()
    """About the document, whatever becomes of it."""
    violations: Sequence[Violation] = ()


class LegacyReader:
    """Reads the documents of one conversion: who points to a Policy needs one among the others."""

    def __init__(self) -> None:
        self._policies = 0
        self._pointing: list[str] = []

    def read(
        self, source: str, body: Mapping[str, Any], repeated: Sequence[str]
    ) -> LegacyDocument | None:
        """None for a document that is not of the past, or has ``repeated`` keys: kube-scheduler let
        them be in a Policy alone.
        """
        if is_policy(body):
            return self._policy(body, repeated)
        if repeated:
            return None
        if v1alpha1.only_points(body):
            return self._alpha(source, body)
        return LegacyDocument(*v1beta.as_v1(body)) if body.get("apiVersion") in VERSIONS else None

    def missing(self) -> Iterator[tuple[str, str]]:
        """After the last document: those that point to a Policy that is not there, and what to
        do.
        """
        if not self._policies:
            text = (
                "algorithmSource.policy: the Policy that it points to is not among the files: "
                "name it too"
            )
            yield from ((source, text) for source in self._pointing)

    def _policy(self, body: Mapping[str, Any], repeated: Sequence[str]) -> LegacyDocument:
        self._policies += 1
        warnings = [ConversionRemark("", f"{one}: the last one counts") for one in repeated]
        try:
            return LegacyDocument(*policy.as_v1(body), warnings)
        except DecodeError as error:
            return LegacyDocument(warnings=warnings, violations=error.violations)

    def _alpha(self, source: str, body: Mapping[str, Any]) -> LegacyDocument:
        """A configuration that says little more than which Policy or provider there is."""
        name = v1alpha1.provider_of(body)
        remarks = v1alpha1.remarks(body)
        if name is None:
            self._pointing.append(source)
            return LegacyDocument(warnings=remarks)
        if name not in PROVIDERS:
            return LegacyDocument(
                violations=[
                    Violation(
                        "algorithmSource.provider", name, f"there were {' and '.join(PROVIDERS)}"
                    )
                ]
            )
        configuration, more = provider_configuration(name)
        return LegacyDocument(configuration, [*more, *remarks])
