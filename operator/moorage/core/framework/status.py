"""Statuses: the small closed set of answers that a plugin can give, and the reasons that go with a
rejection.

A plugin answers with codes; text is made late, when somebody reads it. Each ``Reason`` is one row
of docs/conditions.md.
Source: kube-scheduler framework ``Code`` and ``Status`` (v1.37), reduced to what a columnar
contract needs.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator
from typing import TypeAlias


class Code(enum.StrEnum):
    """What happens next with a pod that got this answer."""

    SUCCESS = "Success"
    """Go on."""
    SKIP = "Skip"
    """The plugin has no say about this pod: its later half (filter, score) is left out of the
    cycle.
    """
    UNSCHEDULABLE = "Unschedulable"
    """Rejected; removing other pods may help. The pod waits for an event that the plugin
    registered.
    """
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    """Rejected; removing pods cannot help here. The pod waits likewise."""
    PENDING = "Pending"
    """Rejected until somebody outside acts; then retried without backoff."""
    ERROR = "Error"
    """A fault, never "does not fit": the attempt ends, the pod is retried after a backoff, no
    plugin is blamed.
    """


REJECTED = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})
"""Answers that are a "no", as opposed to a fault."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reason:
    """Why a node, or all nodes, were rejected.

    ``text`` is what administrators and tools read, exactly as kube-scheduler words it; ``{}`` in it
    stands for a detail (a resource name, say). ``code`` is UNSCHEDULABLE or
    UNSCHEDULABLE_AND_UNRESOLVABLE.
    """

    id: str
    text: str
    code: Code


Why: TypeAlias = tuple[tuple[Reason, str], ...]
"""Reasons with their details ("" where a text has none), in text order."""


@dataclasses.dataclass(frozen=True, slots=True)
class Status:
    """An answer with its texts. On success ``reasons`` are empty, or say what was found."""

    code: Code
    reasons: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """The reasons as one text."""
        return ", ".join(self.reasons)


SUCCESS = Status(Code.SUCCESS)
SKIP = Status(Code.SKIP)


def rejected(*reasons: Reason) -> Status:
    """A rejection for these reasons; unresolvable if any of them is."""
    hopeless = any(reason.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE for reason in reasons)
    return Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE,
        tuple(reason.text for reason in reasons),
    )


def texts(why: Why) -> Iterator[str]:
    """The texts of reasons with their details."""
    return (reason.text.replace("{}", detail) for reason, detail in why)


def is_unresolvable(why: Why) -> bool:
    """Whether removing pods would not help."""
    return any(reason.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE for reason, _ in why)


def rejected_for(why: Why) -> Status:
    """A rejection for these reasons, with their details."""
    return Status(
        Code.UNSCHEDULABLE_AND_UNRESOLVABLE if is_unresolvable(why) else Code.UNSCHEDULABLE,
        tuple(texts(why)),
    )


def error_status(message: str) -> Status:
    """A status for an error, with its text."""
    return Status(Code.ERROR, (message,))


def fit_error_message(
    nodes: int, counts: Iterable[tuple[str, int]], prefilter: str = "", postfilter: str = ""
) -> str:
    """The text of a pod that fits nowhere, as kube-scheduler's FitError words it (tools parse it).

    ``nodes`` is how many there are, ``counts`` pairs each reason with the number of nodes that gave
    it; ``prefilter`` replaces the counts when every node was rejected at once. Entries are sorted
    as whole strings, so "10 x" comes before "2 y".
    """
    message = f"0/{nodes} nodes are available:"
    if prefilter:
        message += f" {prefilter}."
    elif parts := sorted(f"{count} {reason}" for reason, count in counts):
        message += f" {', '.join(parts)}."
    return f"{message} {postfilter}" if postfilter else message
