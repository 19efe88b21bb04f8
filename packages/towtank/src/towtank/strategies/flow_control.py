"""FlowSchemas and PriorityLevelConfigurations: they are stored, and no request is classified."""

from __future__ import annotations

from typing import Final

from towtank.model.kinds import Body, Strategy
from towtank.strategies.common import at, fill

_PRECEDENCE: Final = 1000
_QUEUING: Final = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


class FlowControlStrategy(Strategy):
    """What both have in common."""

    def prepare_create(self, body: Body) -> None:
        """A status that nobody writes."""
        body["status"] = {}


class FlowSchemaStrategy(FlowControlStrategy):
    def default(self, body: Body) -> None:
        """A precedence in the middle; 0 says nothing."""
        if spec := body.get("spec"):
            spec["matchingPrecedence"] = spec.get("matchingPrecedence") or _PRECEDENCE


class PriorityLevelConfigurationStrategy(FlowControlStrategy):
    def default(self, body: Body) -> None:
        """Shares that are not lent; of queues, 0 says nothing."""
        limited = at(body, "spec.limited")
        if limited is None:
            return
        fill(limited, {"nominalConcurrencyShares": 30, "lendablePercent": 0})
        queuing = at(limited, "limitResponse.queuing")
        if queuing is not None:
            queuing |= {key: queuing.get(key) or usual for key, usual in _QUEUING.items()}
