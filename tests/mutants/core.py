"""Mutants of core: a rule of each module that decides something."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_TESTS: Final = "tests/core"

MUTANTS: Final = (
    Mutant(
        name="affinity terms: a namespace selector counts for nothing",
        file="core/pods/affinity_terms.py",
        old="namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)",
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
        name="budgets: one more may go than is allowed",
        file="core/plugins/default_preemption/disruption_budgets.py",
        old="spent[row, budget.name] > budget.allowed",
        new="spent[row, budget.name] > budget.allowed + 1",
        tests=(
            f"{_TESTS}/plugins/default_preemption/test_plugin.py::test_the_search_goes_on_until_a_node_violates_no_budget",
        ),
    ),
    Mutant(
        name="budgets: a stale status counts",
        file="core/plugins/default_preemption/disruption_budgets.py",
        old="status.observed_generation >= (budget.metadata.generation or 0)",
        new="True",
        tests=(
            f"{_TESTS}/plugins/default_preemption/test_disruption_budgets.py::test_who_is_not_evicted",
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
        name="spread: the number of domains does not count",
        file="core/plugins/pod_topology_spread/filtering.py",
        old="known and known >= constraint.min_domains",
        new="known",
        tests=(f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py::test_hard_constraints",),
    ),
    Mutant(
        name="spread: pods of other namespaces count",
        file="core/plugins/pod_topology_spread/filtering.py",
        old="other.metadata.namespace != state.included.pod.metadata.namespace or not any",
        new="not any",
        tests=(
            f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py::test_adjusting_leaves_the_state_alone",
        ),
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
        name="fit arguments: a ratio beside another strategy",
        file="core/plugins/node_resources/fit_arguments.py",
        old="if ratio is not None and (not wanted):",
        new="if False:",
        tests=(f"{_TESTS}/plugins/node_resources/test_fit.py::test_violations",),
    ),
    Mutant(
        name="inter-pod hints: labels of a namespace that stay wake",
        file="core/plugins/inter_pod_affinity/queueing_hints.py",
        old="if len(there) == 2 and (there[0].labels or {}) == (there[1].labels or {}):",
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
        name="devices: what is used up leaves a trace",
        file="core/devices/uses.py",
        old=" for name, amount in both.items() if amount}",
        new=" for name, amount in both.items()}",
        tests=(
            f"{_TESTS}/devices/test_uses.py::test_nodes_that_offer_different_things_have_different_shapes",
        ),
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
        name="dry run: who yields to this pod is left room",
        file="core/framework/evaluation/dry_run.py",
        old="[record for record in there if yields_to(self._pod, record)]",
        new="[record for record in there]",
        tests=(
            f"{_TESTS}/columns/test_kept_choices.py::test_lesser_pods_leave_what_a_nominated_pod_will_choose",
        ),
    ),
)
