"""Mutants of core: rules of modules that decide something."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_TESTS: Final = "tests/core"
_GROUP_CLAIMS: Final = f"{_TESTS}/plugins/dynamic_resources/test_group_claims.py"

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
        name="node table: a pod is charged with its own resources only once",
        file="core/columns/nodes/node_table.py",
        old="elif requests.others or requests.ports:",
        new="elif requests.ports:",
        tests=(
            (
                f"{_TESTS}/plugins/node_resources/test_fit.py"
                "::test_refusals_agree_with_the_naive_ones"
            ),
        ),
    ),
    Mutant(
        name="held room: pods of one template hear the same",
        file="core/framework/evaluation/evaluator.py",
        old="held = self.snapshot.nominations.held_from(pod)",
        new="held = ()",
        tests=(
            (
                f"{_TESTS}/framework/evaluation/test_held_room.py"
                "::test_age_and_group_decide_in_any_order"
            ),
        ),
    ),
    Mutant(
        name="held room: a pod keeps its place when its group changes",
        file="core/columns/nominations.py",
        old=" and (group_of(old.pod) == group_of(pod))",
        new="",
        tests=(
            (
                f"{_TESTS}/framework/evaluation/test_held_room.py"
                "::test_a_held_pod_that_leaves_its_group"
            ),
        ),
    ),
    Mutant(
        name="held room: it is open while the group itself is placed",
        file="core/cycle/group_cycle.py",
        old="nominations.try_out(pod.metadata.uid)",
        new="nominations.remove(pod.metadata.uid)",
        tests=("tests/engine/scheduling/test_nominated_members.py",),
    ),
    Mutant(
        name="held room: it is open while a member is elsewhere",
        file="core/cycle/cycle.py",
        old="        context.cache.nominations.resume(pod.metadata.uid, node)\n",
        new="",
        tests=(f"{_TESTS}/cycle/test_room_of_a_tried_group.py",),
    ),
    Mutant(
        name="held room: it is open once a member was taken back",
        file="core/cycle/cycle.py",
        old="        cache.nominations.resume(uid)\n",
        new="",
        tests=(f"{_TESTS}/cycle/test_room_of_a_tried_group.py",),
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
        name="groups: the last API that a pod names counts",
        file="core/objects/pod_groups.py",
        old="        for api, name_of in _NAMES:\n",
        new="        for api, name_of in reversed(_NAMES):\n",
        tests=(f"{_TESTS}/objects/test_pod_groups.py::test_membership",),
    ),
    Mutant(
        name="groups: the smallest number of an annotation counts",
        file="core/groups/group_spec.py",
        old="max(map(int, asks))",
        new="min(map(int, asks))",
        tests=(f"{_TESTS}/groups/test_group_spec.py::test_annotations",),
    ),
    Mutant(
        name="groups: groups of groups are scheduled",
        file="core/groups/group_spec.py",
        old="    if spec.parent_composite_pod_group_name:\n        return None\n",
        new="",
        tests=(f"{_TESTS}/groups/test_group_spec.py::test_why_nothing_is_known",),
    ),
    Mutant(
        name="groups: an API that is served at last is not noticed",
        file="core/queue/pod_group_members.py",
        old="        (self.unserved.discard if served else self.unserved.add)(api)\n",
        new="        if not served:\n            self.unserved.add(api)\n",
        tests=(f"{_TESTS}/queue/test_pod_group_members.py::test_an_api_that_is_not_served",),
    ),
    Mutant(
        name="groups: a minimum that was met is said again and again",
        file="core/queue/pod_group_members.py",
        old="spec is not None and (not spec.initially_scheduled)",
        new="spec is not None",
        tests=(
            f"{_TESTS}/queue/test_pod_group_members.py::test_a_minimum_that_is_met_is_to_be_said",
        ),
    ),
    Mutant(
        name="queue: a group that rests hears of nothing",
        file="core/queue/pending_moves.py",
        old="if self._resting:",
        new="if False:",
        tests=("tests/engine/scheduling/test_vain_attempts.py",),
    ),
    Mutant(
        name="queue: a group is tried in vain",
        file="core/queue/pending_moves.py",
        old="and self._unchanged(entry)",
        new="and False",
        tests=("tests/engine/scheduling/test_vain_attempts.py",),
    ),
    Mutant(
        name="nominations: others hear of room that is only taken for a try",
        file="core/columns/nominations.py",
        old="self._forget(uid, placed if before is None else before.node)",
        new="self._forget(uid, placed)",
        tests=(f"{_TESTS}/columns/test_nominations.py",),
    ),
    Mutant(
        name="queue: members of a group go before all have moved",
        file="core/queue/group_moves.py",
        old="return {group.scheduler_name for group in self.left}",
        new="return set()",
        tests=("tests/core/queue/test_slices.py",),
    ),
    Mutant(
        name="queue: a group that goes leaves some behind",
        file="core/queue/group_moves.py",
        old="if group in self.left:",
        new="if False:",
        tests=("tests/core/queue/test_slices.py",),
    ),
    Mutant(
        name="groups: one member on a node is enough",
        file="core/queue/pod_group_members.py",
        old="least is not None and len(group.seen) >= least",
        new="least is not None",
        tests=(
            f"{_TESTS}/queue/test_pod_group_members.py::test_a_minimum_is_met_by_distinct_members",
        ),
    ),
    Mutant(
        name="signatures: groups of one template share nothing",
        file="core/pods/signatures.py",
        old="if spec.scheduling_group is not None:",
        new="if False:",
        tests=(f"{_TESTS}/pods/test_signatures.py::test_groups_of_one_template",),
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
        name="grouped pods: a member that changes is told for its own row only",
        file="core/columns/grouped_pods.py",
        old="if isinstance(pod, Pod) and self.together_with(pod):",
        new="if False:",
        tests=(
            (
                f"{_TESTS}/columns/test_grouped_pods.py"
                "::test_a_pod_that_changes_is_told_for_all_that_go_with_it"
            ),
        ),
    ),
    Mutant(
        name="snapshot: a trial within a trial",
        file="core/columns/snapshot.py",
        old="if self._trial is not None:",
        new="if False:",
        tests=(f"{_TESTS}/columns/test_snapshot.py::test_one_trial_at_a_time",),
    ),
    Mutant(
        name="snapshot: pods that a trial took away are there",
        file="core/columns/snapshot.py",
        old=" if record.pod.metadata.uid not in self._gone)",
        new=")",
        tests=(f"{_TESTS}/columns/test_snapshot.py::test_pods_are_gone_from_their_rows",),
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
        name="device searches: what was set down is gone on with whatever has changed",
        file="core/devices/device_searches.py",
        old="same = search is not None and before == shape and",
        new="same = search is not None and",
        tests=(f"{_TESTS}/devices/test_device_searches.py::test_what_a_search_read_changes",),
    ),
    Mutant(
        name="device searches: nobody is told what was given up",
        file="core/devices/device_searches.py",
        old="self._journal.append(what)",
        new="pass",
        tests=(
            "tests/engine/scheduling/test_device_searches.py::test_a_search_is_given_up_by_the_clock",
        ),
    ),
    Mutant(
        name="device searches: a slice that is over gives a search up",
        file="core/devices/device_searches.py",
        old="if 0 < sought.seconds < search.seconds:",
        new="if sought.seconds > 0:",
        tests=(
            (
                f"{_TESTS}/devices/test_device_searches.py"
                "::test_a_search_that_goes_on_from_slice_to_slice_is_given_up"
            ),
        ),
    ),
    Mutant(
        name="allocations: a device of one node can be used on all",
        file="core/devices/allocation_results.py",
        old="if reach.node_name is not None or one.candidate.device.binds_to_node:",
        new="if one.candidate.device.binds_to_node:",
        tests=(f"{_TESTS}/plugins/dynamic_resources/test_plugin.py::test_a_claim_in_flight_waits",),
    ),
    Mutant(
        name="capacity: what others use does not count",
        file="core/devices/capacity.py",
        old="used.get(name, 0) + amount > nanos(capacity[name].value)",
        new="amount > nanos(capacity[name].value)",
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
        name="claim requests: a faulty alternative is taken",
        file="core/devices/claim_requests.py",
        old="if len(mine) == len(request.first_available):",
        new="if mine:",
        tests=(f"{_TESTS}/devices/test_allocator.py::test_a_fault_excludes_its_alternative_only",),
    ),
    Mutant(
        name="claims: one on its way out can be used",
        file="core/devices/pod_claims.py",
        old="if claim.metadata.deletion_timestamp is not None:",
        new="if False:",
        tests=(
            (f"{_TESTS}/plugins/dynamic_resources/test_plugin.py::test_pods_wait_for_their_claims"),
        ),
    ),
    Mutant(
        name="claims: somebody else's generated claim can be used",
        file="core/devices/pod_claims.py",
        old="owner.controller and owner.uid == uid",
        new="owner.controller",
        tests=(
            (f"{_TESTS}/plugins/dynamic_resources/test_plugin.py::test_pods_wait_for_their_claims"),
        ),
    ),
    Mutant(
        name="claims: every claim of a member is its group's",
        file="core/devices/pod_claims.py",
        old="if _entry(use) in shared)",
        new="if shared)",
        tests=(f"{_TESTS}/devices/test_pod_claims.py::test_the_group_has_what_both_say",),
    ),
    Mutant(
        name="claims: the first member that leaves takes what all share",
        file="core/devices/ledger.py",
        old="if holder is None or not decision.holders:",
        new="if True:",
        tests=(f"{_GROUP_CLAIMS}::test_the_last_member_that_leaves_gives_it_back",),
    ),
    Mutant(
        name="releases: devices that are being written are given back",
        file="core/plugins/dynamic_resources/plugin.py",
        old="and (not wanted.ledger.is_assumed(claim))",
        new="",
        tests=(f"{_GROUP_CLAIMS}::test_a_claim_that_is_being_written_is_not_taken_away",),
    ),
    Mutant(
        name="releases: the group's are given back while members run",
        file="core/plugins/dynamic_resources/releases.py",
        old="and (not attempt.scheduled)",
        new="",
        tests=(
            f"{_GROUP_CLAIMS}::test_nothing_of_the_groups_is_given_back_while_a_member_has_a_node",
        ),
    ),
    Mutant(
        name="group post filters: what was said first stays",
        file="core/cycle/group_post_filter.py",
        old="said = [words]\n",
        new="said += [words]\n",
        tests=(
            (
                f"{_TESTS}/cycle/test_group_post_filter.py"
                "::test_who_knows_better_replaces_what_was_said"
            ),
        ),
    ),
    Mutant(
        name="claims: reserved for another too, and let go",
        file="core/devices/pod_claims.py",
        old="return all((consumer.uid == uid",
        new="return not claim.status.reserved_for or any((consumer.uid == uid",
        tests=(
            (
                f"{_TESTS}/plugins/dynamic_resources/test_plugin.py"
                "::test_a_claim_that_keeps_the_pod_away_gives_its_devices_back"
            ),
        ),
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
        old="self._snapshot.nominations.ahead_on(self._pod, name)",
        new="[*self._snapshot.nominations.nominated_pods(name)]",
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
        old="amount > other.get(name, -1)",
        new="amount >= other.get(name, -1)",
        tests=(f"{_TESTS}/framework/test_object_changes.py::test_pods",),
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
        name="scalar: as many reasons as one likes",
        file="core/framework/scalar.py",
        old="if len(self.reasons) == MAX_REASONS:",
        new="if False:",
        tests=(f"{_TESTS}/framework/test_scalar.py::test_reasons_that_name_numbers_are_found_out",),
    ),
    Mutant(
        name="CEL: alike nodes are scaled",
        file="core/plugins/cel/plugin.py",
        old="if high > low else",
        new="if high >= low else",
        tests=(f"{_TESTS}/plugins/cel/test_plugin.py::test_scores",),
    ),
    Mutant(
        name="CEL: whatever changes of the pod wakes it",
        file="core/plugins/cel/plugin.py",
        old="return seen.values(old) != seen.values(new)",
        new="return True",
        tests=(f"{_TESTS}/plugins/cel/test_plugin.py::test_what_wakes_a_refused_pod",),
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
        name="preemption: Never is overlooked",
        file="core/plugins/default_preemption/plugin.py",
        old="if pod.spec.preemption_policy == 'Never':",
        new="if False:",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_plugin.py"
                "::test_a_pod_that_does_not_want_to_preempts_nobody"
            ),
        ),
    ),
    Mutant(
        name="preemption: no candidate is enough",
        file="core/plugins/default_preemption/plugin.py",
        old="max(share, self.min_candidate_nodes_absolute)",
        new="min(share, self.min_candidate_nodes_absolute)",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_plugin.py"
                "::test_a_pod_that_a_budget_protects_stays"
            ),
        ),
    ),
    Mutant(
        name="victims: those that would not go are asked",
        file="core/plugins/default_preemption/victim_search.py",
        old="if not record.stuck",
        new="if True",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_plugin.py"
                "::test_a_node_where_nobody_goes_is_no_candidate"
            ),
        ),
    ),
    Mutant(
        name="victims: equals are displaced",
        file="core/plugins/default_preemption/victim_search.py",
        old="(record.pod.spec.priority or 0) < mine",
        new="(record.pod.spec.priority or 0) <= mine",
        tests=(
            (f"{_TESTS}/plugins/default_preemption/test_plugin.py::test_equals_are_not_displaced"),
        ),
    ),
    Mutant(
        name="victims: pods elsewhere are forgotten",
        file="core/plugins/default_preemption/lanes.py",
        old="(others := bundles.elsewhere.get(j))",
        new="(others := ())",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_groups.py"
                "::test_members_elsewhere_are_told_to_plugins_only"
            ),
        ),
    ),
    Mutant(
        name="units: a pod is as important as a group",
        file="core/plugins/default_preemption/units.py",
        old="-self.priority, not self.grouped,",
        new="-self.priority, True,",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_groups.py"
                "::test_a_group_is_more_important_than_a_pod"
            ),
        ),
    ),
    Mutant(
        name="units: a protected pod stands for its unit",
        file="core/plugins/default_preemption/disruption_budgets.py",
        old="sum((_is_protected(",
        new="any((_is_protected(",
        tests=(
            (
                f"{_TESTS}/plugins/default_preemption/test_groups.py"
                "::test_all_members_that_budgets_protect_are_counted"
            ),
        ),
    ),
    Mutant(
        name="device search: what did not lead on stays taken",
        file="core/devices/allocator.py",
        old="self._undo_to(len(self._given) - 1)",
        new="pass",
        tests=(f"{_TESTS}/devices/test_allocator.py",),
    ),
    Mutant(
        name="device search: the first alternative is no better",
        file="core/plugins/dynamic_resources/node_search.py",
        old="_MAX_ALTERNATIVES - wish.alternative",
        new="_MAX_ALTERNATIVES + wish.alternative",
        tests=(
            (
                f"{_TESTS}/plugins/dynamic_resources/test_plugin.py"
                "::test_better_alternatives_score_higher_beside_an_allocated_claim"
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
        name="inter-pod hints: all terms of anti-affinity have to be met no more",
        file="core/plugins/inter_pod_affinity/queueing_hints.py",
        old="any((no_more.begins((term,)) for term in pod_terms(pod).anti_affinity))",
        new="no_more.begins(pod_terms(pod).anti_affinity)",
        tests=(f"{_TESTS}/plugins/inter_pod_affinity/test_plugin.py::test_pods_that_wake",),
    ),
    Mutant(
        name="node affinity: added terms keep no node",
        file="core/plugins/node_affinity.py",
        old="(wanted.added is None or matches_any(wanted.added, node)) and",
        new="True and",
        tests=(f"{_TESTS}/plugins/test_node_affinity.py::test_nodes_that_wake",),
    ),
    Mutant(
        name="node affinity: names that contradict each other",
        file="core/plugins/node_affinity.py",
        old="if names is not None and (not names):",
        new="if False:",
        tests=(f"{_TESTS}/plugins/test_node_affinity.py::test_names_narrow_the_choice",),
    ),
    Mutant(
        name="node affinity: a node that matched before wakes",
        file="core/plugins/node_affinity.py",
        old=" and (not (isinstance(old, Node) and _matches(wanted, old)))",
        new="",
        tests=(f"{_TESTS}/plugins/test_node_affinity.py::test_nodes_that_wake",),
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
        name="volume limits: a full node is not full",
        file="core/plugins/node_volume_limits.py",
        old="new > spare",
        new="new > spare + 1",
        tests=(
            (
                f"{_TESTS}/plugins/test_other_volume_plugins.py"
                "::test_a_claim_that_a_pod_does_not_own"
            ),
        ),
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
        name="spread: node affinity is honoured unasked",
        file="core/plugins/pod_topology_spread/constraints.py",
        old="if constraint.honors_affinity and",
        new="if",
        tests=(f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py::test_hard_constraints",),
    ),
    Mutant(
        name="spread: an empty selector counts all pods",
        file="core/plugins/pod_topology_spread/constraints.py",
        old="if constraint.selector.conditions == ():",
        new="if False:",
        tests=(f"{_TESTS}/plugins/pod_topology_spread/test_plugin.py::test_hard_constraints",),
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
        name="storage: every claim takes the smallest volume",
        file="core/plugins/volume_binding/storage_scores.py",
        old="np.maximum(last + 1, -fitting)",
        new="-fitting",
        tests=(
            (
                f"{_TESTS}/plugins/volume_binding/test_storage_scores.py"
                "::test_sizes_are_those_of_the_choice"
            ),
        ),
    ),
    Mutant(
        name="reach index: a thing of that size is too small",
        file="core/plugins/volume_binding/reach_index.py",
        old=">= least",
        new="> least",
        tests=(f"{_TESTS}/plugins/volume_binding/test_reach_index.py::test_things_come_and_go",),
    ),
    Mutant(
        name="reach index: everything is within reach",
        file="core/plugins/volume_binding/reach_index.py",
        old="if terms is None or any((term.matches(labels, '') for term in terms))]",
        new="]",
        tests=(f"{_TESTS}/plugins/volume_binding/test_reach_index.py::test_things_come_and_go",),
    ),
    Mutant(
        name="volume zones: another namespace's claim is used",
        file="core/plugins/volume_zone.py",
        old=(
            "if not isinstance(claim, PersistentVolumeClaim) or "
            "claim.metadata.namespace != pod.metadata.namespace:"
        ),
        new="if not isinstance(claim, PersistentVolumeClaim):",
        tests=(f"{_TESTS}/plugins/test_other_volume_plugins.py::test_what_moves_a_volume",),
    ),
    Mutant(
        name="volume zones: one underscore is between zones",
        file="core/plugins/volume_zone.py",
        old=".split('__')",
        new=".split('_')",
        tests=(
            f"{_TESTS}/plugins/test_other_volume_plugins.py::test_a_volume_may_be_in_several_zones",
        ),
    ),
    Mutant(
        name="volume zones: blanks are of a zone",
        file="core/plugins/volume_zone.py",
        old="part.strip()",
        new="part",
        tests=(
            f"{_TESTS}/plugins/test_other_volume_plugins.py::test_a_volume_may_be_in_several_zones",
        ),
    ),
    Mutant(
        name="volume zones: a list with an empty part counts",
        file="core/plugins/volume_zone.py",
        old="if '' not in values:",
        new="if values != {''}:",
        tests=(
            f"{_TESTS}/plugins/test_other_volume_plugins.py::test_a_volume_may_be_in_several_zones",
        ),
    ),
    Mutant(
        name="volume zones: a node with a region alone is anywhere",
        file="core/plugins/volume_zone.py",
        old="for key in _SUCCESSOR:\n            placed |=",
        new="for key in (ZONE,):\n            placed |=",
        tests=(
            f"{_TESTS}/plugins/test_other_volume_plugins.py::test_a_volume_may_be_in_several_zones",
        ),
    ),
    Mutant(
        name="volume zones: an unbound claim waits for its pod",
        file="core/plugins/volume_zone.py",
        old="return () if storage_class.volume_binding_mode == WAIT else ((UNBOUND, ''),)",
        new="return ()",
        tests=(
            f"{_TESTS}/plugins/test_other_volume_plugins.py::test_a_claim_without_volume_waits_for_its_pod_or_the_pod_for_it",
        ),
    ),
    Mutant(
        name="default selectors: any owner has a say",
        file="core/plugins/pod_topology_spread/default_selectors.py",
        old="if owner.controller:",
        new="if True:",
        tests=(
            f"{_TESTS}/plugins/pod_topology_spread/test_default_selectors.py::test_default_selector",
        ),
    ),
    Mutant(
        name="default selectors: Services go before the controller",
        file="core/plugins/pod_topology_spread/default_selectors.py",
        old="{**labels, **more}",
        new="{**more, **labels}",
        tests=(
            f"{_TESTS}/plugins/pod_topology_spread/test_default_selectors.py::test_default_selector",
        ),
    ),
    Mutant(
        name="default selectors: a controller of any namespace",
        file="core/plugins/pod_topology_spread/default_selectors.py",
        old="get(f'{namespace}/{owner.name}')",
        new="get(f'default/{owner.name}')",
        tests=(
            f"{_TESTS}/plugins/pod_topology_spread/test_default_selectors.py::test_a_controller_is_of_the_pods_namespace",
        ),
    ),
    Mutant(
        name="default selectors: kinds of owners that do not control",
        file="core/plugins/pod_topology_spread/default_selectors.py",
        old="if owner.controller and kind is not None:",
        new="if kind is not None:",
        tests=(
            f"{_TESTS}/plugins/pod_topology_spread/test_default_selectors.py::test_kinds_of_controllers",
        ),
    ),
    Mutant(
        name="extended resources: anybody's claim",
        file="core/devices/extended_resources.py",
        old="get(ANNOTATION) == 'true' and owner_of(claim) != ''",
        new="get(ANNOTATION) == 'true'",
        tests=(
            f"{_TESTS}/devices/test_extended_resources.py::test_a_claim_for_extended_resources_is_its_pods",
        ),
    ),
    Mutant(
        name="extended resources: any owner's claim",
        file="core/devices/extended_resources.py",
        old=" if owner.controller)",
        new=")",
        tests=(
            f"{_TESTS}/devices/test_extended_resources.py::test_a_claim_for_extended_resources_is_its_pods",
        ),
    ),
    Mutant(
        name="extended resources: the age of a class is nothing",
        file="core/devices/extended_resources.py",
        old="sorted(by_name, key=lambda one: one.metadata.creation_timestamp or '')",
        new="by_name",
        tests=(
            f"{_TESTS}/devices/test_extended_resources.py::test_of_two_classes_the_younger_counts",
        ),
    ),
    Mutant(
        name="extended resources: the last class by name",
        file="core/devices/extended_resources.py",
        old="key=lambda one: one.metadata.name, reverse=True)",
        new="key=lambda one: one.metadata.name)",
        tests=(
            f"{_TESTS}/devices/test_extended_resources.py::test_of_two_classes_the_younger_counts",
        ),
    ),
    Mutant(
        name="rejections: who leaves nodes out is not blamed",
        file="core/framework/evaluation/rejections.py",
        old=" | set(evaluation.pre_filter.narrowed_by)",
        new="",
        tests=(
            f"{_TESTS}/framework/evaluation/test_rejections.py::test_nodes_out_of_scope_are_counted_and_blamed_on_who_left_them_out",
        ),
    ),
    Mutant(
        name="rejections: nodes out of scope are not counted",
        file="core/framework/evaluation/rejections.py",
        old="if outside:",
        new="if False:",
        tests=(
            f"{_TESTS}/framework/evaluation/test_rejections.py::test_nodes_out_of_scope_are_counted_and_blamed_on_who_left_them_out",
        ),
    ),
    Mutant(
        name="rejections: removing pods helps out of scope",
        file="core/framework/evaluation/rejections.py",
        old="OUT_OF_SCOPE, 2, 0)",
        new="OUT_OF_SCOPE, 1, 0)",
        tests=(
            f"{_TESTS}/framework/evaluation/test_rejections.py::test_nodes_out_of_scope_are_counted_and_blamed_on_who_left_them_out",
        ),
    ),
    Mutant(
        name="rejections: plugins are named as they came",
        file="core/framework/evaluation/rejections.py",
        old="sorted(plugins)",
        new="plugins",
        tests=(
            f"{_TESTS}/framework/evaluation/test_rejections.py::test_several_are_named_in_order",
        ),
    ),
    Mutant(
        name="expression facts: variables as they are read",
        file="core/plugins/cel/variables.py",
        old="tuple((name for name in variables if name in reads))",
        new="tuple((name for name in reads if name in variables))",
        tests=(
            f"{_TESTS}/plugins/cel/test_variables.py::test_variables_come_in_an_order_of_their_own",
        ),
    ),
    Mutant(
        name="expression facts: entries as an object has them",
        file="core/plugins/cel/variables.py",
        old="(sorted(value) if keys is None else keys)",
        new="(value if keys is None else keys)",
        tests=(f"{_TESTS}/plugins/cel/test_variables.py::test_equal_entries_have_equal_encodings",),
    ),
    Mutant(
        name="expression facts: keys in any order",
        file="core/plugins/cel/variables.py",
        old="tuple(sorted(keys))",
        new="tuple(keys)",
        tests=(
            f"{_TESTS}/plugins/cel/test_variables.py::test_variables_come_in_an_order_of_their_own",
        ),
    ),
    Mutant(
        name="expression facts: texts of any length",
        file="core/plugins/cel/variables.py",
        old="return value[:MAX_ANNOTATION_CHARACTERS] if",
        new="return value if",
        tests=(
            f"{_TESTS}/plugins/cel/test_variables.py::test_only_entries_that_are_read_are_shown",
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
        name="ceilings: one above",
        file="core/pods/ceilings.py",
        old="if (found := self.count(obj)) <= self.most:",
        new="if (found := self.count(obj)) <= self.most + 1:",
        tests=(f"{_TESTS}/pods/test_ceilings.py::test_each_ceiling",),
    ),
    Mutant(
        name="ceilings: preferred terms have room",
        file="core/pods/ceilings.py",
        old=" if self._takes(one.pod_affinity_term)",
        new="",
        tests=(
            (
                f"{_TESTS}/pods/test_ceilings.py"
                "::test_what_a_pod_on_a_node_says_of_others_counts_up_to_the_ceiling"
            ),
        ),
    ),
    Mutant(
        name="taints: an effect does not matter",
        file="core/pods/node_selection.py",
        old="toleration.effect not in ('', taint.effect) or toleration.key",
        new="toleration.key",
        tests=(f"{_TESTS}/pods/test_node_selection.py::test_toleration_covers_taint",),
    ),
    Mutant(
        name="node selection: preferences without weight are read",
        file="core/pods/node_selection.py",
        old="if term.weight and (not _is_empty(term.preference))]",
        new="if not _is_empty(term.preference)]",
        tests=(f"{_TESTS}/pods/test_node_selection.py::test_preferences",),
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
        name="queue: who backs off has his turn before who is ready",
        file="core/queue/outlook.py",
        old="return (1, *self._queues.backoff.key(entry))",
        new="return (-1, *self._queues.backoff.key(entry))",
        tests=(f"{_TESTS}/queue/test_outlook.py",),
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
    Mutant(
        name="undo: pods come back to a node in another order",
        file="core/simulation/undoing.py",
        old="self._reorder(node, order)",
        new="pass",
        tests=(f"{_TESTS}/simulation/test_draining.py::test_the_context_is_as_before",),
    ),
    Mutant(
        name="fit: what runs out is asked of nodes that never took a pod",
        file="core/simulation/fitting.py",
        old="int(np.isin(rejected.rows, before).sum())",
        new="rejected.rows.size",
        tests=(f"{_TESTS}/simulation/test_fitting.py::test_what_runs_out_first_is_said_first",),
    ),
    Mutant(
        name="group fits: other groups are tried beside members of the first",
        file="core/simulation/group_fits.py",
        old="self._other = GroupAttempt(spec, members)",
        new="self._other = self._first",
        tests=(f"{_TESTS}/simulation/test_group_fits.py::test_a_group_that_runs_needs_nobody",),
    ),
    Mutant(
        name="group fits: the number of nodes that would do is not the least",
        file="core/simulation/group_fits.py",
        old="low, high = (low, middle) if holds(middle) else (middle, high)",
        new="low = middle",
        tests=(f"{_TESTS}/simulation/test_group_fits.py::test_a_group_that_does_not",),
    ),
    Mutant(
        name="rerun: pods end when they ended, not when they have run for as long",
        file="core/simulation/rerun.py",
        old="if uid in self.others or self._recorded.duration(uid) is None:",
        new="if True:",
        tests=(f"{_TESTS}/simulation/test_comparison.py::test_a_pod_that_waits_longer_ends_later",),
    ),
    Mutant(
        name="intervals: few windows are as good as many",
        file="core/simulation/intervals.py",
        old="_t_quantile(confidence, len(differences) - 1)",
        new="_t_quantile(confidence, WINDOWS - 1)",
        tests=(f"{_TESTS}/simulation/test_intervals.py::test_intervals",),
    ),
    Mutant(
        name="judgements: one that is judged among many is judged as if alone",
        file="core/simulation/judgements.py",
        old="max(1, len(candidates) * len(goals.gains))",
        new="1",
        tests=(f"{_TESTS}/simulation/test_judgements.py::test_chance_is_seldom_taken_for_a_gain",),
    ),
    Mutant(
        name="daemon pods: they tolerate no more than their template says",
        file="core/simulation/daemon_pods.py",
        old="tolerations = (*(pod.spec.tolerations or ()), *more)",
        new="tolerations = pod.spec.tolerations",
        tests=(f"{_TESTS}/simulation/test_daemon_pods.py::test_one_on_each_node_that_admits_it",),
    ),
    Mutant(
        name="compared measures: windows tell all",
        file="core/simulation/compared_measures.py",
        old="if luck is None or one.interval is None:",
        new="if True:",
        tests=(
            (
                f"{_TESTS}/simulation/test_judgements.py"
                "::test_luck_that_lasts_is_seldom_taken_for_a_gain"
            ),
        ),
    ),
    Mutant(
        name="parts: the first part sees the rest",
        file="core/simulation/recorded_parts.py",
        old="RecordedPart(whole[:place], cut, seed)",
        new="RecordedPart(whole, cut, seed)",
        tests=(
            (
                f"{_TESTS}/simulation/test_recorded_parts.py"
                "::test_the_first_part_knows_nothing_of_the_rest"
            ),
        ),
    ),
    Mutant(
        name="measures: what is free is stranded wherever it is",
        file="core/simulation/measures.py",
        old="np.where(short, np.maximum(free[resource], 0), 0)",
        new="np.maximum(free[resource], 0)",
        tests=(f"{_TESTS}/simulation/test_intervals.py::test_measures",),
    ),
    Mutant(
        name="recorded: a binding that failed counts",
        file="core/simulation/recorded_times.py",
        old="self.bound.pop(entry.uid, None)",
        new="pass",
        tests=(f"{_TESTS}/simulation/test_comparison.py::test_what_is_known_of_a_pod",),
    ),
    Mutant(
        name="scenarios: what waits is forgotten",
        file="core/simulation/scenarios.py",
        old="_arrive(simulator, [*waiting, *scenario.pods])",
        new="_arrive(simulator, scenario.pods)",
        tests=(f"{_TESTS}/simulation/test_scenarios.py::test_what_waits_is_placed",),
    ),
    Mutant(
        name="parts: pods of the begin count as arrivals",
        file="core/simulation/recorded_parts.py",
        old="if came > recorded.begin",
        new="if True",
        tests=(f"{_TESTS}/simulation/test_comparison.py::test_pods_of_the_begin_did_not_come",),
    ),
    Mutant(
        name="drain: a pod that is placed again gives nothing back to its budget",
        file="core/simulation/draining.py",
        old="evictions.replaced(pod)",
        new="pass",
        tests=(f"{_TESTS}/simulation/test_draining.py::test_budgets_are_heeded",),
    ),
    Mutant(
        name="simulator: victims do not come back",
        file="core/simulation/simulator.py",
        old="self.arrive(made_again(record.pod))",
        new="pass",
        tests=(
            f"{_TESTS}/simulation/test_simulator.py::test_victims_go_and_look_for_another_place",
        ),
    ),
    Mutant(
        name="replay: a plugin that fails now ends it",
        file="core/recording/replay.py",
        old="return RecordedOutcome(code='Fault', message=repr(error))",
        new="raise",
        tests=(f"{_TESTS}/recording/test_replay.py::test_a_plugin_that_fails_now_is_a_difference",),
    ),
    Mutant(
        name="replay: nominations are not restored",
        file="core/recording/state_changes.py",
        old="cache.nominations.restore(change)",
        new="pass",
        tests=(f"{_TESTS}/recording/test_replay.py::test_a_nomination_is_as_it_was",),
    ),
    Mutant(
        name="journal: what is forgotten is not journaled",
        file="core/columns/cache.py",
        old="self.journal.append(changes.PodForgotten(uid))",
        new="pass",
        tests=("tests/engine/scheduling/test_gangs_side_by_side.py",),
    ),
    Mutant(
        name="key frame: what is known of a pod later is known before",
        file="core/columns/cache.py",
        old="self._rewrite(dataclasses.replace(record, preempted=True))",
        new="record.preempted = True",
        tests=(f"{_TESTS}/recording/test_key_frames.py",),
    ),
    Mutant(
        name="key frame: statuses nominate again",
        file="core/recording/key_frames.py",
        old="if pod.status.nominated_node_name",
        new="if False",
        tests=(
            (
                f"{_TESTS}/recording/test_replay.py"
                "::test_a_key_frame_nominates_nobody_that_is_not_nominated"
            ),
        ),
    ),
    Mutant(
        name="key frame: nodes are looked at in the order to come",
        file="core/recording/key_frames.py",
        old="[changes.NodesOrdered(names)] if names else []",
        new="[]",
        tests=(f"{_TESTS}/recording/test_replay.py::test_a_key_frame_has_the_order_of_nodes",),
    ),
    Mutant(
        name="others: what we have assumed is a choice of others",
        file="core/recording/others.py",
        old="if waiting is None or cache.pod_info(uid) is not None:",
        new="if waiting is None:",
        tests=(f"{_TESTS}/recording/test_others.py::test_what_is_our_own_is_no_choice_of_others",),
    ),
    Mutant(
        name="others: states behind are those of now",
        file="core/recording/others.py",
        old="self._delayed[0][0] <= until",
        new="True",
        tests=(f"{_TESTS}/recording/test_others.py::test_a_choice_of_before_is_stale",),
    ),
    Mutant(
        name="others: a sample hides as many nodes as one likes",
        file="core/recording/standing.py",
        old="self.better_nodes <= self.sampled_better_nodes",
        new="self.sampled_better_nodes > 0",
        tests=(
            (
                f"{_TESTS}/recording/test_others.py"
                "::test_a_sampling_scheduler_may_not_have_seen_better_ones"
            ),
        ),
    ),
    Mutant(
        name="replayed groups: a moment that has come stays",
        file="core/recording/replayed_groups.py",
        old="        self._has_come = False\n        return ask()",
        new="        return ask()",
        tests=(f"{_TESTS}/recording/test_replayed_groups.py::test_several_placements",),
    ),
    Mutant(
        name="replayed groups: the first member is the one that differs",
        file="core/recording/replayed_groups.py",
        old="        if was != one:\n",
        new="        if True:\n",
        tests=(
            f"{_TESTS}/recording/test_replayed_groups.py::test_what_was_said_otherwise_is_found",
        ),
    ),
    Mutant(
        name="group attempts: the moment of an answer is told before it",
        file="core/cycle/group_scheduling.py",
        old="        answer = ask()\n        self._journal.append(self._said)\n",
        new="        self._journal.append(self._said)\n        answer = ask()\n",
        tests=(f"{_TESTS}/recording/test_replayed_groups.py::test_group_preemption",),
    ),
    Mutant(
        name="recordings: revisions are not announced",
        file="core/recording/wire.py",
        old="self._revisions[wired.number] = self._resolve(wired.document)",
        new="pass",
        tests=("tests/engine/scheduling/test_gangs_side_by_side.py",),
    ),
    Mutant(
        name="recordings: a key frame does not stand alone",
        file="core/recording/wire.py",
        old="self._numbers.clear()",
        new="pass",
        tests=("tests/engine/test_recording.py",),
    ),
    Mutant(
        name="recordings: placed members of a group stand in an order of their own",
        file="core/recording/wired_groups.py",
        old="if _changed(before, came, went) == now:",
        new="if True:",
        tests=(f"{_TESTS}/recording/test_wired_groups.py",),
    ),
    Mutant(
        name="recordings: kubectl's copies are kept",
        file="core/recording/wire.py",
        old="annotations is None or _LAST_APPLIED not in annotations",
        new="True",
        tests=("tests/engine/test_recording.py",),
    ),
    Mutant(
        name="replay: what was known before a gap stays",
        file="core/recording/replay.py",
        old="self.context = CycleContext(Cache(Store(INDEXES)), self.context.seed)",
        new="pass",
        tests=("tests/engine/test_recording.py",),
    ),
    Mutant(
        name="trials: bets win sooner than they may",
        file="core/trials/evidence.py",
        old="return _log_capital(against, margin) >= -math.log(FALSE_ALARMS)",
        new="return _log_capital(against, margin) >= -math.log(FALSE_ALARMS) / 2",
        tests=(f"{_TESTS}/trials/test_evidence.py::test_false_alarms_reckoned",),
    ),
    Mutant(
        name="trials: margins are not allowed for",
        file="core/trials/evidence.py",
        old="_log(1 + stake * (x - margin))",
        new="_log(1 + stake * x)",
        tests=(f"{_TESTS}/trials/test_evidence.py::test_a_margin_allows_that_much",),
    ),
    Mutant(
        name="trials: improvements do not speak against the last look",
        file="core/trials/evidence.py",
        old="counts.regressions >= LAST_LOOK_REGRESSIONS and counts.improvements == 0",
        new="counts.regressions >= LAST_LOOK_REGRESSIONS",
        tests=(f"{_TESTS}/trials/test_evidence.py::test_false_alarms_where_both_refuse_at_random",),
    ),
    Mutant(
        name="trials: as many regressions as are allowed are too many",
        file="core/trials/plans.py",
        old="counts.regressions > most",
        new="counts.regressions >= most",
        tests=(
            (
                f"{_TESTS}/trials/test_evidence.py"
                "::test_a_count_finds_it_where_hardly_any_pod_is_refused"
            ),
        ),
    ),
    Mutant(
        name="trials: a regression is an improvement",
        file="core/trials/pairs.py",
        old="PairOutcome.REGRESSION if placed[0] else PairOutcome.IMPROVEMENT",
        new="PairOutcome.REGRESSION if placed[1] else PairOutcome.IMPROVEMENT",
        tests=(f"{_TESTS}/trials/test_pairs.py::test_what_a_pair_comes_to",),
    ),
    Mutant(
        name="trials: an unbound decision makes room",
        file="core/trials/unbound.py",
        old="points={**revision.points, **_NOBODY}",
        new="points=revision.points",
        tests=(f"{_TESTS}/trials/test_pairs.py::test_unbound_revisions_make_no_room",),
    ),
    Mutant(
        name="explaining: the greatest request is one too great",
        file="core/explaining/pod_changes.py",
        old="while high - low > 1:",
        new="while high - low > 2:",
        tests=(f"{_TESTS}/explaining/test_true.py",),
    ),
    Mutant(
        name="explaining: parts of a change are not tried",
        file="core/explaining/pod_changes.py",
        old="return not any(map(fits, itertools.chain.from_iterable(parts)))",
        new="return True",
        tests=(f"{_TESTS}/explaining/test_explanations.py::test_parts_of_changes_are_not_found",),
    ),
    Mutant(
        name="explaining: a pod moves to where the other one goes",
        file="core/explaining/what_if.py",
        old="with self.with_pod(pod, placed.node):",
        new="if True:",
        tests=(
            (
                f"{_TESTS}/explaining/test_explanations.py"
                "::test_pods_that_belong_to_their_node_do_not_move"
            ),
        ),
    ),
    Mutant(
        name="explaining groups: members that are alike are not changed",
        file="core/explaining/what_if_group.py",
        old="if self._signatures[one.metadata.uid] == signature",
        new="if one.metadata.uid == pod.metadata.uid",
        tests=(f"{_TESTS}/explaining/test_groups.py::test_what_is_said_is_true",),
    ),
    Mutant(
        name="explaining groups: the greatest minimum is one too small",
        file="core/explaining/what_if_group.py",
        old="while high - low > 1:",
        new="while high - low > 2:",
        tests=(f"{_TESTS}/explaining/test_groups.py::test_what_is_said_is_true",),
    ),
    Mutant(
        name="explaining groups: members are not taken back",
        file="core/explaining/pending_groups.py",
        old="for one in reversed([*outcome.members.values()]):",
        new="for one in ():",
        tests=(f"{_TESTS}/explaining/test_groups.py::test_what_is_said_is_true",),
    ),
    Mutant(
        name="explaining: nodes that were added stay",
        file="core/explaining/what_if.py",
        old="undo.callback(cache.remove_node, name)",
        new="pass",
        tests=(f"{_TESTS}/explaining/test_true.py",),
    ),
    Mutant(
        name="explaining: one node more than it takes",
        file="core/explaining/cluster_changes.py",
        old="helped.add(size)\n        return AddedNodes(number, node.metadata.name)",
        new="helped.add(size)\n        return AddedNodes(number + 1, node.metadata.name)",
        tests=(f"{_TESTS}/explaining/test_explanations.py",),
    ),
    Mutant(
        name="explaining: a kind of change is searched to its end before the next one's turn",
        file="core/explaining/searches.py",
        old="going = [one for one in going if one.step()]",
        new="going = going if going[0].step() else going[1:]",
        tests=(f"{_TESTS}/explaining/test_limits.py::test_each_search_has_its_turn",),
    ),
    Mutant(
        name="explaining: pods of DaemonSets do not come with new nodes",
        file="core/explaining/what_if.py",
        old="for pod in new.pods:",
        new="for pod in ():",
        tests=(f"{_TESTS}/explaining/test_explanations.py::test_new_nodes_have_daemons",),
    ),
    Mutant(
        name="explaining: reasons of nominated pods are left out",
        file="core/framework/evaluation/rejections.py",
        old="rejected_by[rows] = PASSES\n        yield",
        new="rejected_by[rows] = PASSES\n        continue\n        yield",
        tests=(f"{_TESTS}/explaining/test_explanations.py::test_room_that_is_kept",),
    ),
    Mutant(
        name="hints: what frees a pod in the eyes of a revision on trial does not count",
        file="core/queue/hints.py",
        old="hints = {**other.hints, **self.hints}",
        new="hints = dict(self.hints)",
        tests=("tests/core/queue/test_joined_hints.py",),
    ),
    Mutant(
        name="hints: of two that look at pods otherwise one signature counts",
        file="core/queue/hints.py",
        old="its.get(plugin, signature) == signature",
        new="True",
        tests=("tests/core/queue/test_joined_hints.py",),
    ),
    Mutant(
        name="group cycle: members that cannot be enough any more are still asked",
        file="core/cycle/group_cycle.py",
        old="if scheduled + remaining < least:",
        new="if not remaining and scheduled < least:",
        tests=(f"{_TESTS}/cycle/test_group_cycle.py::test_enough_or_none",),
    ),
    Mutant(
        name="group cycle: siblings stand back for each other's nominations",
        file="core/columns/nominations.py",
        old="if uid not in siblings and _yields_to(pod, one)",
        new="if _yields_to(pod, one)",
        tests=(
            (
                f"{_TESTS}/cycle/test_group_cycle.py"
                "::test_siblings_need_not_stand_back_for_each_others_nominations"
            ),
        ),
    ),
    Mutant(
        name="group cycle: siblings stand back for each other's nominations elsewhere",
        file="core/columns/nominations.py",
        old="if level[1] == siblings:",
        new="if False:",
        tests=(f"{_TESTS}/cycle/test_room_of_a_tried_group.py",),
    ),
    Mutant(
        name="group placements: members that run say nothing",
        file="core/plugins/topology_placement_generator.py",
        old="if theirs:",
        new="if False:",
        tests=(
            (f"{_TESTS}/cycle/test_group_cycle.py::test_members_that_run_say_where_the_others_go"),
        ),
    ),
    Mutant(
        name="group domains: one with just enough room is left out",
        file="core/cycle/group_domains.py",
        old="if takes[code] >= wanted.needed",
        new="if takes[code] > wanted.needed",
        tests=(f"{_TESTS}/cycle/test_group_domains.py::test_no_domain_is_left_out_that_fits",),
    ),
    Mutant(
        name="group domains: the largest one comes first",
        file="core/cycle/group_domains.py",
        old="codes[room[codes].argsort(kind='stable')]",
        new="codes[(-room[codes]).argsort(kind='stable')]",
        tests=(f"{_TESTS}/cycle/test_group_domains.py::test_against_trying_all",),
    ),
    Mutant(
        name="group domains: the last label is preferred",
        file="core/plugins/topology_placement_generator.py",
        old="for one in keys)",
        new="for one in reversed(keys))",
        tests=(f"{_TESTS}/cycle/test_domain_histories.py::test_where_groups_go",),
    ),
    Mutant(
        name="group domains: a part of the members will do",
        file="core/cycle/group_cycle.py",
        old="if tried.refused is None and tried.status.code is Code.SUCCESS:",
        new="if tried.status.code is Code.SUCCESS:",
        tests=(f"{_TESTS}/cycle/test_domain_histories.py::test_where_groups_go",),
    ),
    Mutant(
        name="group domains: members that run draw nobody",
        file="core/plugins/topology_placement_generator.py",
        old="divisions = (_division(one, scheduled, snapshot)",
        new="divisions = (_division(one, (), snapshot)",
        tests=(f"{_TESTS}/cycle/test_domain_histories.py::test_where_groups_go",),
    ),
    Mutant(
        name="group domains: more of a kind have room than there are",
        file="core/cycle/group_domains.py",
        old="takes += np.minimum(sums, alike.number)",
        new="takes += sums",
        tests=(f"{_TESTS}/cycle/test_group_domains.py::test_room_of_one_kind_is_none_of_another",),
    ),
    Mutant(
        name="group domains: equal ones are tried by name",
        file="core/cycle/group_domains.py",
        old="codes = in_order(codes, hashes, wanted.group.tie_breaker, context.seed)",
        new="codes = np.sort(codes)",
        tests=(f"{_TESTS}/cycle/test_group_domains.py::test_equal_domains_have_their_turns",),
    ),
    Mutant(
        name="group placements: the first of equals is the best",
        file="core/cycle/group_placements.py",
        old="return pick(equals, names, group.tie_breaker, context.seed)",
        new="return int(equals[0])",
        tests=(f"{_TESTS}/cycle/test_group_placements.py::test_ties_are_broken_by_seed_and_group",),
    ),
    Mutant(
        name="group seats: room is held against older pods, too",
        file="core/cycle/group_seats.py",
        old="priority(record.pod) == priority(member) and is_younger(record.pod, member)",
        new="priority(record.pod) == priority(member)",
        tests=(f"{_TESTS}/cycle/test_group_seats.py::test_against_whom_room_is_held",),
    ),
    Mutant(
        name="group seats: those that are held are chosen anew",
        file="core/cycle/group_seats.py",
        old="if (held := _held(attempt, context)):",
        new="if (held := {}):",
        tests=(f"{_TESTS}/cycle/test_group_seats.py::test_room_that_is_held_for_all_stays",),
    ),
    Mutant(
        name="group seats: where victims go room is held",
        file="core/cycle/group_seats.py",
        old="or not nominated.held or",
        new="or",
        tests=(f"{_TESTS}/cycle/test_group_seats.py::test_a_nomination_for_victims_is_not_held",),
    ),
    Mutant(
        name="volume limits: a driver insists in vain",
        file="core/plugins/node_volume_limits.py",
        old="codes[counts & (codes < _FIRST_MISSING)] = _FIRST_MISSING + i",
        new="pass",
        tests=(
            (
                f"{_TESTS}/plugins/test_other_volume_plugins.py"
                "::test_a_driver_may_insist_on_being_installed"
            ),
        ),
    ),
    Mutant(
        name="volume limits: in-tree volumes insist on a CSINode",
        file="core/plugins/node_volume_limits.py",
        old="counts = np.full(codes.size, native)",
        new="counts = np.full(codes.size, True)",
        tests=(
            (
                f"{_TESTS}/plugins/test_other_volume_plugins.py"
                "::test_a_driver_may_insist_on_being_installed"
            ),
        ),
    ),
    Mutant(
        name="group preemption: who could come back is a victim",
        file="core/cycle/group_preemption.py",
        old="if not (yield from self._all_pass()):\n                self._remove(unit)",
        new="if True:\n                self._remove(unit)",
        tests=(f"{_TESTS}/cycle/test_group_preemption.py::test_victims_suffice_and_are_needed",),
    ),
    Mutant(
        name="group preemption: the pods that extenders name go although the members do not fit",
        file="core/cycle/group_preemption.py",
        old="if not (yield from self._all_pass()):\n            return OTHERS_NAMED",
        new="yield from self._all_pass()",
        tests=(
            (
                f"{_TESTS}/cycle/test_group_copies.py"
                "::test_victims_without_whom_the_members_would_not_fit_are_not_spared"
            ),
        ),
    ),
    Mutant(
        name="group copies: extenders have no say where room is made",
        file="core/cycle/group_copies.py",
        old="if not (self.around.asks_extenders and extenders_interested(pod, self.revision)):",
        new="if True:",
        tests=(
            (
                f"{_TESTS}/cycle/test_group_copies.py"
                "::test_members_are_nominated_where_extenders_let_them_go"
            ),
        ),
    ),
    Mutant(
        name="grouped pods: groups that are disrupted together go one by one",
        file="core/columns/grouped_pods.py",
        old="group is None or not group.spec.disrupted_together",
        new="True",
        tests=(
            (
                f"{_TESTS}/cycle/test_group_preemption.py"
                "::test_a_group_that_is_disrupted_together_goes_whole"
            ),
        ),
    ),
    Mutant(
        name="device scoring: a large island is as good as a small one",
        file="core/plugins/device_scoring/device_order.py",
        old="for part in (at.whole, at.wanted, place)",
        new="for part in (at.whole, place)",
        tests=(f"{_TESTS}/plugins/device_scoring/test_plugin.py::test_devices_that_are_taken",),
    ),
    Mutant(
        name="device scoring: one device breaks into a whole island",
        file="core/plugins/device_scoring/device_order.py",
        old="island.whole for island in outermost_first",
        new="0 for island in outermost_first",
        tests=(f"{_TESTS}/plugins/device_scoring/test_plugin.py::test_devices_that_are_taken",),
    ),
    Mutant(
        name="device scoring: too few devices are of use",
        file="core/plugins/device_scoring/waste.py",
        old="np.where(enough, useful, 0)",
        new="useful",
        tests=(f"{_TESTS}/plugins/device_scoring/test_waste.py::test_expected_waste",),
    ),
    Mutant(
        name="device scoring: a new request is not measured by what is known",
        file="core/plugins/device_scoring/waste.py",
        old="[*self._stocks], 0)",
        new="[*self._stocks][:1], 0)",
        tests=(f"{_TESTS}/plugins/device_scoring/test_waste.py::test_a_table_that_grew",),
    ),
    Mutant(
        name="device scoring: what came of a search holds for any weights",
        file="core/plugins/device_scoring/device_outcomes.py",
        old="order.ranks(changes) == ranks for",
        new="True for",
        tests=(
            (
                f"{_TESTS}/plugins/device_scoring/test_outcomes.py"
                "::test_what_is_used_again_is_what_a_new_search_comes_to"
            ),
        ),
    ),
    Mutant(
        name="device scoring: a fault holds for any weights",
        file="core/plugins/device_scoring/device_outcomes.py",
        old="return DeviceChoice(None, None)",
        new="return DeviceChoice(None, ())",
        tests=(
            (
                f"{_TESTS}/plugins/device_scoring/test_outcomes.py"
                "::test_a_fault_may_be_due_to_the_weights"
            ),
        ),
    ),
    Mutant(
        name="device scoring: devices that cpu never suffices for are of use",
        file="core/plugins/device_scoring/waste.py",
        old="(once + ever) // 2",
        new="once",
        tests=(f"{_TESTS}/plugins/device_scoring/test_waste.py::test_expected_waste",),
    ),
    Mutant(
        name="device scoring: what is gone is still expected",
        file="core/plugins/device_scoring/demand.py",
        old="then = count + now[kind] - before[kind]",
        new="then = count + now[kind]",
        tests=(
            (
                f"{_TESTS}/plugins/device_scoring/test_plugin.py"
                "::test_demand_is_what_pods_on_nodes_ask_for"
            ),
        ),
    ),
)
