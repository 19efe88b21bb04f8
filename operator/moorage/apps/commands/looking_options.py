"""Options of commands that look at a cluster and its operator, once or again and again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from moorage.apps.commands.command_line import (
    CLUSTER_OPTIONS,
    OPERATOR_OPTIONS,
    operator_choice,
    option,
    output_option,
)
from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.apps.worlds.cluster_choice import ClusterChoice

LOOKING_OPTIONS: Final = (
    output_option(),
    option("--watch -w", bool, False, "Look again every two seconds, until Ctrl-C."),
    *OPERATOR_OPTIONS,
    *CLUSTER_OPTIONS,
)


@dataclasses.dataclass(frozen=True, slots=True)
class LookingOptions:
    """What was typed. ``form`` is one of FORMATS, "" for people; ``watch``: again and again."""

    cluster: ClusterChoice
    operator: OperatorChoice
    form: str = ""
    watch: bool = False


def looking_options(flags: Mapping[str, Any]) -> LookingOptions:
    """What LOOKING_OPTIONS say."""
    cluster = ClusterChoice(flags["kubeconfig"], flags["context"])
    return LookingOptions(cluster, operator_choice(flags), flags["output"], flags["watch"])
