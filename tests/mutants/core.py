"""Mutants of core: rules of modules that decide something."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_TESTS: Final = "tests/core"

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="labels: a column is not told of a label that goes",
        file="core/columns/nodes/label_columns.py",
        old="if old.get(key) != labels.get(key)]",
        new="if key in labels and old.get(key) != labels.get(key)]",
        tests=(f"{_TESTS}/columns/nodes/test_row_selection.py::test_rows_agree_with_nodes",),
    ),
    Mutant(
        name="labels: numbers of old values are kept",
        file="core/columns/nodes/label_columns.py",
        old="self._integers is None or self._integers[0] != self.version",
        new="self._integers is None",
        tests=(f"{_TESTS}/columns/nodes/test_row_selection.py::test_rows_agree_with_nodes",),
    ),
    Mutant(
        name="rows: Gt takes its own bound",
        file="core/columns/nodes/row_selection.py",
        old="numbers > condition.bound",
        new="numbers >= condition.bound",
        tests=(f"{_TESTS}/test_columns_agree.py::test_columns_agree_after",),
    ),
    Mutant(
        name="rows: other fields than the name are names",
        file="core/columns/nodes/row_selection.py",
        old="if condition.key != NODE_NAME:",
        new="if False:",
        tests=(f"{_TESTS}/columns/nodes/test_row_selection.py::test_rows_agree_with_nodes",),
    ),
    Mutant(
        name="counters: namespaces do not matter",
        file="core/columns/pod_counters.py",
        old=("if self.namespaces is not None and meta.namespace not in self.namespaces:"),
        new="if False:",
        tests=(f"{_TESTS}/columns/test_pod_counters.py::test_made_when_asked_for_and_kept",),
    ),
    Mutant(
        name="counters: as many as were ever asked for",
        file="core/columns/pod_counters.py",
        old="(len(self._matching) > self._most or self._words > MAX_WORDS)",
        new="False",
        tests=(f"{_TESTS}/columns/test_pod_counters.py::test_those_not_asked_for_are_dropped",),
    ),
    Mutant(
        name="pods on nodes: a full node is too full",
        file="core/columns/pod_info.py",
        old="taken[resource] <= has[resource][0]",
        new="taken[resource] < has[resource][0]",
        tests=(f"{_TESTS}/columns/test_pod_info.py::test_room_beside_others",),
    ),
    Mutant(
        name="volume table: a claim of another owner counts",
        file="core/columns/volume_table.py",
        old="found.claim is not None and use.owns(found.claim)",
        new="found.claim is not None",
        tests=(
            (
                f"{_TESTS}/plugins/test_other_volume_plugins.py"
                "::test_a_claim_that_a_pod_does_not_own"
            ),
        ),
    ),
    Mutant(
        name="volume table: one that is used twice counts twice",
        file="core/columns/volume_table.py",
        old="if (row in there) != bool(left) and row not in others.get(volume, ()):",
        new="if row not in others.get(volume, ()):",
        tests=(f"{_TESTS}/structures/test_all_or_none.py::test_whoever_is_told_may_raise",),
    ),
    Mutant(
        name="extenders: an answer about strangers",
        file="core/cycle/extender_cycle.py",
        old="if strange is None:",
        new="if True:",
        tests=(f"{_TESTS}/cycle/test_extender_cycle.py::test_filter_answers",),
    ),
    Mutant(
        name="extenders: the worst node",
        file="core/cycle/extender_cycle.py",
        old="best = max((totals",
        new="best = min((totals",
        tests=(
            (f"{_TESTS}/cycle/test_extender_cycle.py::test_a_nominated_node_is_asked_about_first"),
        ),
    ),
    Mutant(
        name="capacity: what others use does not count",
        file="core/devices/capacity.py",
        old="used.get(name, 0) + amount > nanos(has.value)",
        new="amount > nanos(has.value)",
        tests=(f"{_TESTS}/devices/test_capacity.py::test_what_others_use_counts",),
    ),
    Mutant(
        name="capacity: less than the least is taken",
        file="core/devices/capacity.py",
        old="nanos(asked) < nanos(least)",
        new="False",
        tests=(f"{_TESTS}/devices/test_capacity.py::test_what_a_request_takes",),
    ),
    Mutant(
        name="pools: another node's devices",
        file="core/devices/pools.py",
        old="return reach.node_name == node.metadata.name",
        new="return True",
        tests=(
            (
                f"{_TESTS}/devices/test_uses.py"
                "::test_nodes_that_offer_different_things_have_different_shapes"
            ),
        ),
    ),
    Mutant(
        name="devices: what is used up leaves a trace",
        file="core/devices/uses.py",
        old=" for name, amount in both.items() if amount}",
        new=" for name, amount in both.items()}",
        tests=(
            (
                f"{_TESTS}/devices/test_uses.py"
                "::test_nodes_that_offer_different_things_have_different_shapes"
            ),
        ),
    ),
    Mutant(
        name="dry run: who yields to this pod is left room",
        file="core/framework/evaluation/dry_run.py",
        old="[record for record in there if yields_to(self._pod, record)]",
        new="[record for record in there]",
        tests=(
            (
                f"{_TESTS}/columns/test_kept_choices.py"
                "::test_lesser_pods_leave_what_a_nominated_pod_will_choose"
            ),
        ),
    ),
    Mutant(
        name="guard: scores of any size",
        file="core/framework/guard.py",
        old=("if not scores.size or (scores.min() >= 0 and scores.max() <= MAX_NODE_SCORE):"),
        new="if True:",
        tests=(f"{_TESTS}/framework/test_guard.py::test_scores_are_judged_where_they_count",),
    ),
    Mutant(
        name="guard: an array of another length",
        file="core/framework/guard.py",
        old="if answer.shape != (size,):",
        new="if False:",
        tests=(f"{_TESTS}/framework/test_guard.py::test_nonsense_is_a_fault",),
    ),
    Mutant(
        name="guard: a code of an error that may not be",
        file="core/framework/guard.py",
        old=("if answer.size and answer.min() < 0 and (not getattr(plugin, 'may_fail', False)):"),
        new="if False:",
        tests=(f"{_TESTS}/framework/test_guard.py::test_nonsense_is_a_fault",),
    ),
    Mutant(
        name="changes: a pod that asks for as much is scaled down",
        file="core/framework/object_changes.py",
        old="amount > after.get(name, -1)",
        new="amount >= after.get(name, -1)",
        tests=(f"{_TESTS}/framework/test_object_changes.py::test_pods_have_two_resources",),
    ),
    Mutant(
        name="changes: a spec that changes is a status",
        file="core/framework/object_changes.py",
        old="old.spec == new.spec and old.metadata == metadata and",
        new="old.metadata == metadata and",
        tests=(f"{_TESTS}/queue/test_scheduling_queue.py::test_scheduling_gates",),
    ),
    Mutant(
        name="revisions: what is disabled runs",
        file="core/framework/revisions.py",
        old="if one[0] not in user.disabled and '*' not in user.disabled]",
        new="if '*' not in user.disabled]",
        tests=(f"{_TESTS}/framework/test_revisions.py::test_expansion",),
    ),
    Mutant(
        name="revisions: a plugin without weight scores",
        file="core/framework/revisions.py",
        old=" for name, weight in weights.items() if weight}",
        new=" for name, weight in weights.items()}",
        tests=(f"{_TESTS}/framework/test_revisions.py::test_weights",),
    ),
    Mutant(
        name="budgets: one more may go than is allowed",
        file="core/plugins/default_preemption/disruption_budgets.py",
        old="spent[row, budget.name] > budget.allowed",
        new="spent[row, budget.name] > budget.allowed + 1",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_plugin.py"
                "::test_the_search_goes_on_until_a_node_violates_no_budget"
            ),
        ),
    ),
    Mutant(
        name="budgets: a stale status counts",
        file="core/plugins/default_preemption/disruption_budgets.py",
        old="status.observed_generation >= (budget.metadata.generation or 0)",
        new="True",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_disruption_budgets.py"
                "::test_who_is_not_evicted"
            ),
        ),
    ),
    Mutant(
        name="victims: those that would not go are asked",
        file="core/plugins/default_preemption/victim_search.py",
        old=" if not record.stuck)",
        new=")",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_plugin.py"
                "::test_a_node_where_nobody_goes_is_no_candidate"
            ),
        ),
    ),
    Mutant(
        name="affinity: nobody is the first",
        file="core/plugins/inter_pod_affinity/plugin.py",
        old=("demand.by_itself and (not any((counts.any() for counts in demand.counts.values())))"),
        new="False",
        tests=(f"{_TESTS}/plugins/inter_pod_affinity/test_plugin.py::test_required_terms",),
    ),
    Mutant(
        name="affinity: pods are shunned where there are none",
        file="core/plugins/inter_pod_affinity/plugin.py",
        old="codes[counts[domains(key, nodes, rows)] > 0] = code",
        new="codes[counts[domains(key, nodes, rows)] >= 0] = code",
        tests=(
            (
                f"{_TESTS}/plugins/inter_pod_affinity/test_plugin.py"
                "::test_adjusting_by_a_topology_that_nobody_used"
            ),
        ),
    ),
    Mutant(
        name="inter-pod hints: labels of a namespace that stay wake",
        file="core/plugins/inter_pod_affinity/queueing_hints.py",
        old=("if len(there) == 2 and (there[0].labels or {}) == (there[1].labels or {}):"),
        new="if False:",
        tests=(f"{_TESTS}/plugins/inter_pod_affinity/test_plugin.py::test_namespaces_that_wake",),
    ),
    Mutant(
        name="inter-pod hints: a pod without a node frees",
        file="core/plugins/inter_pod_affinity/queueing_hints.py",
        old="if not all((_has_node(one) for one in (old, new) if one is not None)):",
        new="if False:",
        tests=(f"{_TESTS}/plugins/inter_pod_affinity/test_plugin.py::test_pods_that_wake",),
    ),
    Mutant(
        name="balance: a resource is listed twice",
        file="core/plugins/node_resources/balanced_allocation.py",
        old="if spec.name in names:",
        new="if False:",
        tests=(f"{_TESTS}/plugins/node_resources/test_balanced_allocation.py::test_violations",),
    ),
    Mutant(
        name="fit: a full node takes one more",
        file="core/plugins/node_resources/fit.py",
        old="nodes.requested[PODS][rows] >= nodes.allocatable[PODS][rows]",
        new="nodes.requested[PODS][rows] > nodes.allocatable[PODS][rows]",
        tests=(f"{_TESTS}/plugins/node_resources/test_fit.py::test_too_many_pods",),
    ),
    Mutant(
        name="fit: what just fits does not",
        file="core/plugins/node_resources/fit.py",
        old="allocatable - requested < amount",
        new="allocatable - requested <= amount",
        tests=(
            (
                f"{_TESTS}/plugins/node_resources/test_fit.py"
                "::test_a_resource_that_appears_later_is_found"
            ),
        ),
    ),
    Mutant(
        name="fit: what asks for nothing must be had",
        file="core/plugins/node_resources/fit.py",
        old="if amount and (not self.args.ignores(name))}",
        new="if not self.args.ignores(name)}",
        tests=(
            (
                f"{_TESTS}/plugins/node_resources/test_fit.py"
                "::test_an_overcommitted_node_still_takes_pods_that_ask_for_nothing"
            ),
        ),
    ),
    Mutant(
        name="fit arguments: a ratio beside another strategy",
        file="core/plugins/node_resources/fit_arguments.py",
        old="if ratio is not None and (not wanted):",
        new="if False:",
        tests=(f"{_TESTS}/plugins/node_resources/test_fit.py::test_violations",),
    ),
    Mutant(
        name="spread arguments: any action",
        file="core/plugins/pod_topology_spread/arguments.py",
        old="if action not in (HARD, SOFT):",
        new="if False:",
        tests=(f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py::test_arguments",),
    ),
    Mutant(
        name="spread arguments: listed constraints beside the built-in ones",
        file="core/plugins/pod_topology_spread/arguments.py",
        old="if self.defaulting_type == 'System' and constraints:",
        new="if False:",
        tests=(f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py::test_arguments",),
    ),
    Mutant(
        name="spread: the number of domains does not count",
        file="core/plugins/pod_topology_spread/filtering.py",
        old="known and known >= constraint.min_domains",
        new="known",
        tests=(f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py::test_hard_constraints",),
    ),
    Mutant(
        name="spread: pods of other namespaces count",
        file="core/plugins/pod_topology_spread/filtering.py",
        old=("other.metadata.namespace != state.included.pod.metadata.namespace or not any"),
        new="not any",
        tests=(
            (
                f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py"
                "::test_adjusting_leaves_the_state_alone"
            ),
        ),
    ),
    Mutant(
        name="spread: a pod that changed nothing wakes",
        file="core/plugins/pod_topology_spread/plugin.py",
        old="if before == after:",
        new="if False:",
        tests=(f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py::test_pods_that_wake",),
    ),
    Mutant(
        name="offers: room for anything",
        file="core/plugins/volume_binding/offers.py",
        old="index.counts(amount, None, nodes, rows) > 0",
        new="index.counts(amount, None, nodes, rows) >= 0",
        tests=(
            (
                f"{_TESTS}/plugins/volume_binding/test_plugin.py"
                "::test_room_that_comes_and_goes_is_seen"
            ),
        ),
    ),
    Mutant(
        name="affinity terms: a namespace selector counts for nothing",
        file="core/pods/affinity_terms.py",
        old=("namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)"),
        new="namespace in self.namespaces",
        tests=(f"{_TESTS}/columns/test_pod_counters.py::test_carried_terms_ask_for_the_namespace",),
    ),
    Mutant(
        name="affinity terms: named namespaces count for nothing",
        file="core/pods/affinity_terms.py",
        old="named = term.namespaces or ((namespace,)",
        new="named = ((namespace,)",
        tests=(f"{_TESTS}/pods/test_affinity_terms.py::test_whom_a_term_speaks_of",),
    ),
    Mutant(
        name="requests: an infeasible resize counts",
        file="core/pods/requests.py",
        old="bool(pending) and pending[0].reason == 'Infeasible'",
        new="False",
        tests=(f"{_TESTS}/pods/test_requests.py::test_a_resize_counts_twice_until_it_is_done",),
    ),
    Mutant(
        name="requests: amounts of any size",
        file="core/pods/requests.py",
        old="max(0, min(units, MAX_AMOUNT))",
        new="max(0, units)",
        tests=(f"{_TESTS}/pods/test_requests.py::test_amounts_are_kept_in_range",),
    ),
    Mutant(
        name="index: the youngest is the oldest",
        file="core/queue/entry_index.py",
        old="min((entry.initial_attempt_timestamp",
        new="max((entry.initial_attempt_timestamp",
        tests=(f"{_TESTS}/queue/test_against_naive.py::TestAgainstNaive::runTest",),
    ),
    Mutant(
        name="index: profiles without pods stay",
        file="core/queue/entry_index.py",
        old="if not profile.entries:",
        new="if False:",
        tests=(f"{_TESTS}/queue/test_scheduling_queue.py::test_removal_from_anywhere",),
    ),
    Mutant(
        name="queue: a pod that is there is added again",
        file="core/queue/scheduling_queue.py",
        old="if pod.metadata.uid in self._index.entries:",
        new="if False:",
        tests=(f"{_TESTS}/queue/test_scheduling_queue.py::test_a_known_pod_is_not_added_again",),
    ),
    Mutant(
        name="migration: a disk of two zones is in one",
        file="core/volumes/csi_migration.py",
        old="if len(zones) < 2:",
        new="if len(zones) <= 2:",
        tests=(f"{_TESTS}/plugins/test_other_volume_plugins.py::test_regional_disks",),
    ),
    Mutant(
        name="migration: volumes without a handle count",
        file="core/volumes/csi_migration.py",
        old="for plugin, handle in found if handle)",
        new="for plugin, handle in found)",
        tests=(f"{_TESTS}/plugins/test_other_volume_plugins.py::test_what_makes_room_for_volumes",),
    ),
    Mutant(
        name="reach: an in-tree volume's zone goes by the old label",
        file="core/volumes/reach.py",
        old="if not zone_key or not (zones or terms):",
        new="if True:",
        tests=(f"{_TESTS}/plugins/volume_binding/test_plugin.py::test_volumes_that_were_in_tree",),
    ),
    Mutant(
        name="reach: a class reaches no node",
        file="core/volumes/reach.py",
        old="if not storage_class.allowed_topologies:",
        new="if False:",
        tests=(f"{_TESTS}/plugins/volume_binding/test_plugin.py::test_two_volumes_of_one_claim",),
    ),
)
