"""Configurations: whether kube-scheduler would start with one, and as what."""

from __future__ import annotations

from typing import Any

from moorage.apps.convert.effective import effective
from moorage.apps.convert.loading import ConfigurationRefused, read
from moorage.core.framework.arguments import FieldErrorType, Violation
from tests.vectors.files import Case
from tests.vectors.profiles import RESOLVER


def configuration(case: Case) -> dict[str, Any]:
    """The verdict with what belongs to it; messages for people are not compared."""
    try:
        loaded = read(case["config"], RESOLVER.registry)
    except ConfigurationRefused as refused:
        if refused.stage != "invalid":
            return {"verdict": refused.stage}
        errors = [_error(violation) for violation in refused.violations]
        return {"verdict": "invalid", "errors": sorted(errors, key=_as_go_prints)}
    return {"verdict": "valid", "effective": effective(loaded, RESOLVER.registry)}


def _error(violation: Violation) -> dict[str, str]:
    """kube-scheduler has no words beside the type for some errors, and never a suggestion."""
    wordless = (
        violation.error_type is FieldErrorType.DUPLICATE or violation.message == "Required value"
    )
    detail = "" if wordless else violation.message.partition("; did you mean")[0]
    return {"field": violation.path, "type": violation.error_type.value, "detail": detail}


def _as_go_prints(error: dict[str, str]) -> str:
    return f"map[detail:{error['detail']} field:{error['field']} type:{error['type']}]"
