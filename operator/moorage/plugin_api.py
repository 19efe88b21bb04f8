"""What authors of plugins from outside the tree import; docs/writing-plugins.md shows how.

Names here stay; whatever else is in this package may change with every version.
"""

from kubefacts.quantities import QuantityError, milli_value, value
from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Objects
from moorage.core.framework.arguments import ARGUMENTS, Problem, Violation
from moorage.core.framework.cluster_events import Action, ClusterEvent, Hint, Resource, Wake
from moorage.core.framework.interfaces import (
    MAX_NODE_SCORE,
    AdjustingPlugin,
    Attempt,
    Codes,
    DependingPlugin,
    DistinguishingPlugin,
    FailingPlugin,
    FilterPlugin,
    NormalizePlugin,
    Plugin,
    Point,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
    PreFilterPlugin,
    Prepared,
    PreScorePlugin,
    Ranking,
    RankingPlugin,
    ReadingPlugin,
    Reserved,
    ReservePlugin,
    ScorePlugin,
    Scores,
    default_normalize,
)
from moorage.core.framework.registry import PluginSpec
from moorage.core.framework.scalar import ScalarPlugin
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Status, Why, failed, refused
from moorage.core.objects.meta import HasMetadata, ObjectMeta, Struct, key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.engine.binding.actors.contract import BindActor, Hold, PermitActor, PostBindActor, PreBindActor, Tools, pod_ref
from moorage.engine.binding.actors.registrations import Registration

__all__ = [
    "ARGUMENTS",
    "MAX_NODE_SCORE",
    "SKIP",
    "SUCCESS",
    "Action",
    "AdjustingPlugin",
    "Aspect",
    "Attempt",
    "BindActor",
    "ClusterEvent",
    "Code",
    "Codes",
    "DependingPlugin",
    "DistinguishingPlugin",
    "FailingPlugin",
    "FilterPlugin",
    "HasMetadata",
    "Hint",
    "Hold",
    "Node",
    "NormalizePlugin",
    "ObjectMeta",
    "Objects",
    "PermitActor",
    "Plugin",
    "PluginSpec",
    "Pod",
    "Point",
    "PostBindActor",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindActor",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreScorePlugin",
    "Prepared",
    "Problem",
    "QuantityError",
    "Ranking",
    "RankingPlugin",
    "ReadingPlugin",
    "Reason",
    "Registration",
    "ReservePlugin",
    "Reserved",
    "Resource",
    "Rows",
    "ScalarPlugin",
    "ScorePlugin",
    "Scores",
    "Snapshot",
    "Status",
    "Struct",
    "Tools",
    "Versioned",
    "Violation",
    "Wake",
    "Why",
    "default_normalize",
    "failed",
    "key",
    "milli_value",
    "pod_ref",
    "refused",
    "value",
]
