"""All kinds of documents, and their JSON Schema.

Commands make dicts; a test holds what each of them writes to its type here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from moorage.apps.outputs.cluster_outputs import QueueOutput, StatusOutput
from moorage.apps.outputs.explanation_outputs import PodExplanationOutput, PodGroupExplanationOutput
from moorage.apps.outputs.recording_outputs import MomentOutput, ReplayOutput
from moorage.apps.outputs.revision_outputs import (
    CheckOutput,
    DiffOutput,
    HistoryOutput,
    PauseOutput,
    RollbackOutput,
    TrialOutput,
)
from moorage.apps.outputs.simulation_outputs import FitOutput, SimulationOutput, TuningOutput

Output: TypeAlias = Annotated[
    CheckOutput
    | DiffOutput
    | FitOutput
    | HistoryOutput
    | MomentOutput
    | PauseOutput
    | PodExplanationOutput
    | PodGroupExplanationOutput
    | QueueOutput
    | ReplayOutput
    | RollbackOutput
    | SimulationOutput
    | StatusOutput
    | TrialOutput
    | TuningOutput,
    Field(discriminator="kind"),
]
"""Any document."""
COMMANDS: Final[Mapping[str, str]] = {
    "Check": "check",
    "Diff": "diff",
    "Fit": "fit",
    "History": "history",
    "Moment": "replay --at",
    "Pause": "rollback --pause",
    "PodExplanation": "explain",
    "PodGroupExplanation": "explain podgroup",
    "Queue": "queue",
    "Replay": "replay",
    "Rollback": "rollback",
    "Simulation": "simulate",
    "Status": "status",
    "Trial": "trial",
    "Tuning": "tune",
}
"""What writes a kind of document."""
OUTPUTS: Final[TypeAdapter[Output]] = TypeAdapter(
    Output, config=ConfigDict(extra="forbid", strict=True, use_attribute_docstrings=True)
)
"""Takes no field that is not named; the text below a field describes it."""


class _Untitled(GenerateJsonSchema):
    """Without titles, which say a field's name again, and what is OpenAPI's alone."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
        return {"oneOf": super().tagged_union_schema(schema)["oneOf"]}


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents, that of each type under ``$defs``."""
    return OUTPUTS.json_schema(schema_generator=_Untitled)
