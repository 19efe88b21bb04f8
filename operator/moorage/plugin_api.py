"""What authors of plugins from outside the tree import; docs/writing-plugins.md shows how.

Names here stay; whatever else is in this package may change with every version.
"""

from kubefacts.quantities import QuantityError, milli_value, value
from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.framework.arguments import ARGUMENTS, FieldErrorType, Violation
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHintFn,
)
from moorage.core.framework.interfaces import (
    MAX_NODE_SCORE,
    Codes,
    DependentPlugin,
    ExtensionPoint,
    FallibleFilterPlugin,
    FeasibleScorePlugin,
    FilterPlugin,
    NodeScores,
    ObjectReadingPlugin,
    Plugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    ReservePlugin,
    ReserveResult,
    ScoreExtensions,
    ScorePlugin,
    Scores,
    SharedSignPlugin,
    SignPlugin,
    SkippingReservePlugin,
    default_normalize_score,
)
from moorage.core.framework.placement_contract import (
    Placement,
    PlacementScorePlugin,
    Proposal,
)
from moorage.core.framework.post_filter_contract import (
    FailedAttempt,
    PostFilterPlugin,
    PostFilterResult,
)
from moorage.core.framework.registry import PluginSpec
from moorage.core.framework.scalar import ScalarPlugin
from moorage.core.framework.status import (
    SKIP,
    SUCCESS,
    Code,
    Reason,
    Status,
    Why,
    error_status,
    rejected,
)
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.meta import HasMetadata, ObjectMeta, Struct, key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.engine.binding.actors.contract import (
    ActorTools,
    BindActor,
    PermitActor,
    PermitWait,
    PostBindActor,
    PostFilterActor,
    PreBindActor,
)
from moorage.engine.binding.actors.registrations import PluginRegistration
from moorage.ports.kube import pod_ref

__all__ = [
    "ARGUMENTS",
    "MAX_NODE_SCORE",
    "SKIP",
    "SUCCESS",
    "ActionType",
    "ActorTools",
    "Aspect",
    "BindActor",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "Codes",
    "DependentPlugin",
    "EventResource",
    "ExtensionPoint",
    "FailedAttempt",
    "FallibleFilterPlugin",
    "FeasibleScorePlugin",
    "FieldErrorType",
    "FilterPlugin",
    "GroupSpec",
    "HasMetadata",
    "Lister",
    "Node",
    "NodeScores",
    "ObjectMeta",
    "ObjectReadingPlugin",
    "PermitActor",
    "PermitWait",
    "Placement",
    "PlacementScorePlugin",
    "Plugin",
    "PluginRegistration",
    "PluginSpec",
    "Pod",
    "PostBindActor",
    "PostFilterActor",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindActor",
    "PreEnqueuePlugin",
    "PreFilterExtensions",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "Proposal",
    "QuantityError",
    "QueueingHintFn",
    "Reason",
    "ReservePlugin",
    "ReserveResult",
    "Rows",
    "ScalarPlugin",
    "ScoreExtensions",
    "ScorePlugin",
    "Scores",
    "SharedSignPlugin",
    "SignPlugin",
    "SkippingReservePlugin",
    "Snapshot",
    "Status",
    "Struct",
    "Versioned",
    "Violation",
    "Why",
    "default_normalize_score",
    "error_status",
    "key",
    "milli_value",
    "pod_ref",
    "rejected",
    "value",
]
