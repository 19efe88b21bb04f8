"""Mutants of the embedded cluster: rules of its modules."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

_TESTS: Final = "packages/towtank/towtank_tests"
_RECORDED: Final = (
    f"{_TESTS}/strategies/test_recorded_objects.py::test_answers_are_those_of_a_kube_apiserver"
)
_MANAGERS: Final = (
    f"{_TESTS}/test_managed_fields.py::test_owners_are_those_that_an_api_server_recorded"
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    Mutant(
        name="cluster: a namespace that is not there is deleted",
        file="towtank/cluster.py",
        old="if resource and self.api.verbs.find(resource.key, '', name):",
        new="if resource:",
        tests=(f"{_TESTS}/test_threaded_cluster.py::test_namespaces",),
    ),
    Mutant(
        name="client of controllers: any owner looks after it",
        file="towtank/controllers/client.py",
        old=" if owner.get('controller')",
        new="",
        tests=(
            (f"{_TESTS}/controllers/test_client.py::test_one_of_the_owners_looks_after_an_object"),
        ),
    ),
    Mutant(
        name="client of controllers: a pod that goes is a replica",
        file="towtank/controllers/client.py",
        old="not is_terminating(pod) and (not is_finished(pod))",
        new="not is_finished(pod)",
        tests=(f"{_TESTS}/controllers/test_client.py::test_a_pod_counts_while_it_runs_or_will",),
    ),
    Mutant(
        name="queue of controllers: a later time counts",
        file="towtank/controllers/controller.py",
        old="key not in self._times or when < self._times[key]",
        new="key not in self._times",
        tests=(
            (f"{_TESTS}/controllers/test_controller.py::test_who_starts_later_finds_what_is_there"),
        ),
    ),
    Mutant(
        name="queue of controllers: retries at once",
        file="towtank/controllers/controller.py",
        old="_FIRST_RETRY / 2) * 2, _LAST_RETRY)",
        new="_FIRST_RETRY / 2) * 2, 0)",
        tests=(
            (
                f"{_TESTS}/controllers/test_controller.py"
                "::test_a_refusal_is_told_and_looked_at_again_later_and_later"
            ),
        ),
    ),
    Mutant(
        name="deployments: old sets are kept for ever",
        file="towtank/controllers/deployment.py",
        old="empty[:max(len(empty) - kept, 0)]",
        new="empty[:0]",
        tests=(f"{_TESTS}/controllers/test_deployment.py::test_early_templates_are_forgotten",),
    ),
    Mutant(
        name="deployments: just enough is too little",
        file="towtank/controllers/deployment_status.py",
        old="counted['availableReplicas'] >= to.min_available",
        new="counted['availableReplicas'] > to.min_available",
        tests=(f"{_TESTS}/controllers/test_deployment.py::test_pods_come_and_the_status_tells",),
    ),
    Mutant(
        name="disruption: evictions that never came are counted for ever",
        file="towtank/controllers/disruption.py",
        old=" and after(parse_time(time), EVICTION_LIMIT) > now",
        new="",
        tests=(
            (
                f"{_TESTS}/controllers/test_disruption.py"
                "::test_a_granted_eviction_counts_for_a_while"
            ),
        ),
    ),
    Mutant(
        name="garbage: who does not block is waited for",
        file="towtank/controllers/garbage_collector.py",
        old="each['uid'] == uid and each.get('blockOwnerDeletion')",
        new="each['uid'] == uid",
        tests=(
            (f"{_TESTS}/controllers/test_garbage_collector.py::test_only_who_blocks_is_waited_for"),
        ),
    ),
    Mutant(
        name="garbage: a circle waits for ever",
        file="towtank/controllers/garbage_collector.py",
        old="return blocks and (not (found and self._waits_for(found, uid)))",
        new="return blocks",
        tests=(f"{_TESTS}/controllers/test_garbage_collector.py::test_a_circle_of_owners_goes",),
    ),
    Mutant(
        name="garbage: a circle has no branches",
        file="towtank/controllers/garbage_collector.py",
        old="seen.add(each['metadata']['uid'])\n            open_ += [",
        new="seen.add(each['metadata']['uid'])\n            open_ = [",
        tests=(
            f"{_TESTS}/controllers/test_garbage_collector.py::test_a_circle_need_not_wait_for_who_hangs_on_another_of_it",
        ),
    ),
    Mutant(
        name="garbage: an owner that waits is not waited for",
        file="towtank/controllers/garbage_collector.py",
        old="if waited_for and body['metadata']['uid'] in self._dependents:",
        new="if False:",
        tests=(
            f"{_TESTS}/controllers/test_garbage_collector.py::test_finalizers_of_a_dependent_say_how_it_goes",
        ),
    ),
    Mutant(
        name="garbage: who has nobody waits for nobody",
        file="towtank/controllers/garbage_collector.py",
        old="if waited_for and body['metadata']['uid'] in self._dependents:",
        new="if waited_for:",
        tests=(
            f"{_TESTS}/controllers/test_garbage_collector.py::test_who_has_no_dependents_goes_in_one_write",
        ),
    ),
    Mutant(
        name="garbage: who would be orphaned goes",
        file="towtank/controllers/garbage_collector.py",
        old="if ORPHAN in finalizers:",
        new="if False:",
        tests=(
            f"{_TESTS}/controllers/test_garbage_collector.py::test_finalizers_of_a_dependent_say_how_it_goes",
        ),
    ),
    Mutant(
        name="garbage: a finalizer of a dependent says nothing",
        file="towtank/controllers/garbage_collector.py",
        old="return 'Foreground' if FOREGROUND in finalizers else 'Background'",
        new="return 'Background'",
        tests=(
            f"{_TESTS}/controllers/test_garbage_collector.py::test_finalizers_of_a_dependent_say_how_it_goes",
        ),
    ),
    Mutant(
        name="garbage: what goes is deleted again",
        file="towtank/controllers/garbage_collector.py",
        old=" or is_terminating(body):",
        new=":",
        tests=(
            f"{_TESTS}/controllers/test_garbage_collector.py::test_who_is_being_deleted_goes_its_own_way",
        ),
    ),
    Mutant(
        name="garbage: a finalizer is a deletion",
        file="towtank/controllers/garbage_collector.py",
        old="return is_terminating(body) and FOREGROUND in",
        new="return FOREGROUND in",
        tests=(
            f"{_TESTS}/controllers/test_garbage_collector.py::test_a_finalizer_alone_is_no_deletion",
        ),
    ),
    Mutant(
        name="garbage: some orphans are enough",
        file="towtank/controllers/garbage_collector.py",
        old="if len(places) <= self.keys_per_slice:",
        new="if True:",
        tests=(f"{_TESTS}/controllers/test_garbage_collector.py::test_orphans_are_many",),
    ),
    Mutant(
        name="kubelet: another object of that name",
        file="towtank/controllers/kubelet.py",
        old="if found is not None and uid in ([], [found['metadata']['uid']]):",
        new="if found is not None:",
        tests=(
            (f"{_TESTS}/controllers/test_kubelet.py::test_a_later_pod_of_the_name_is_left_alone"),
        ),
    ),
    Mutant(
        name="controllers: the last one is due first",
        file="towtank/controllers/manager.py",
        old="return min((when",
        new="return max((when",
        tests=(f"{_TESTS}/controllers/test_disruption.py::test_numbers",),
    ),
    Mutant(
        name="namespaces: finalizers of others go",
        file="towtank/controllers/namespace.py",
        old=" if each != _KUBERNETES]",
        new=" if False]",
        tests=(
            (
                f"{_TESTS}/controllers/test_garbage_collector.py"
                "::test_a_namespace_stays_for_a_finalizer_of_others"
            ),
        ),
    ),
    Mutant(
        name="volumes of towtank: the largest that will do",
        file="towtank/controllers/persistent_volume.py",
        old="return min(fitting, key=_size, default=None)",
        new="return max(fitting, key=_size, default=None)",
        tests=(
            (
                f"{_TESTS}/controllers/test_persistent_volume.py"
                "::test_the_smallest_volume_that_fits_is_taken"
            ),
        ),
    ),
    Mutant(
        name="volumes of towtank: a claim does not wait for its pod",
        file="towtank/controllers/persistent_volume.py",
        old="if self._waits_for_pod(claim):",
        new="if False:",
        tests=(f"{_TESTS}/controllers/test_persistent_volume.py::test_what_is_set_aside_is_bound",),
    ),
    Mutant(
        name="replica sets: any pod is deleted",
        file="towtank/controllers/replica_set.py",
        old="sorted(pods, key=rank)[:number]",
        new="list(pods)[:number]",
        tests=(
            (f"{_TESTS}/controllers/test_deployment.py::test_what_cannot_be_read_is_no_hindrance"),
        ),
    ),
    Mutant(
        name="rollout: nothing may be unavailable and nothing more may run",
        file="towtank/controllers/rollout.py",
        old="if not surge and (not unavailable):",
        new="if False:",
        tests=(f"{_TESTS}/controllers/test_rollout.py::test_targets",),
    ),
    Mutant(
        name="rollout: more than the surge allows",
        file="towtank/controllers/rollout.py",
        old="return min(new.desired + room, to.replicas)",
        new="return to.replicas",
        tests=(
            (
                f"{_TESTS}/controllers/test_rollout.py"
                "::test_the_new_set_grows_as_far_as_the_surge_allows"
            ),
        ),
    ),
    Mutant(
        name="rollout: the smallest set takes the rest",
        file="towtank/controllers/rollout.py",
        old="key=lambda each: -each.desired",
        new="key=lambda each: each.desired",
        tests=(f"{_TESTS}/controllers/test_rollout.py::test_all_sets_keep_their_shares",),
    ),
    Mutant(
        name="rollout: what is available goes first",
        file="towtank/controllers/rollout.py",
        old="for broken_ones in (True, False):",
        new="for broken_ones in (False, True):",
        tests=(
            (f"{_TESTS}/controllers/test_rollout.py::test_old_sets_shrink_as_far_as_enough_stay"),
        ),
    ),
    Mutant(
        name="verbs: one that a kind does not have",
        file="towtank/handlers/dispatcher.py",
        old="if verb not in target.resource.verbs:",
        new="if False:",
        tests=(f"{_TESTS}/test_dispatcher.py::test_codes",),
    ),
    Mutant(
        name="verbs: writes to all namespaces",
        file="towtank/handlers/dispatcher.py",
        old=("if request.method not in known or (everywhere and request.method != 'GET'):"),
        new="if request.method not in known:",
        tests=(f"{_TESTS}/test_dispatcher.py::test_codes",),
    ),
    Mutant(
        name="reads: items of built-in kinds say what they are",
        file="towtank/handlers/read_handlers.py",
        old=" if key not in ('kind', 'apiVersion')",
        new="",
        tests=(
            (
                f"{_TESTS}/test_read_handlers.py"
                "::test_lists_of_built_in_kinds_say_once_what_they_are_of"
            ),
        ),
    ),
    Mutant(
        name="writes: another kind's options delete",
        file="towtank/handlers/write_handlers.py",
        old="if (kind := body.get('kind', 'DeleteOptions')) != 'DeleteOptions':",
        new="if False:",
        tests=(f"{_TESTS}/test_write_handlers.py::test_options_of_another_kind_are_refused",),
    ),
    Mutant(
        name="apply: managed fields of one's own",
        file="towtank/managed_fields/apply_validation.py",
        old=("if isinstance(metadata, dict) and metadata.get('managedFields') is not None:"),
        new="if False:",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="apply: an item twice",
        file="towtank/managed_fields/apply_validation.py",
        old="if key in seen:",
        new="if False:",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="field sets: not in order",
        file="towtank/managed_fields/field_sets.py",
        old="sorted((key for key in fields if key != SELF))",
        new="list((key for key in fields if key != SELF))",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="field sets: a set without itself has itself",
        file="towtank/managed_fields/field_sets.py",
        old="return not fields or SELF in fields",
        new="return True",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="managers: any number of entries",
        file="towtank/managed_fields/managers.py",
        old="if excess <= 0:",
        new="if True:",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="managers: entries as they came",
        file="towtank/managed_fields/managers.py",
        old=(
            "return sorted(entries, key=lambda e: (e['operation'], e.get('time', "
            "''), e['manager'], e['apiVersion'], e.get('subresource', '')))"
        ),
        new="return list(entries)",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="merge: what a manager gave up stays",
        file="towtank/managed_fields/merge.py",
        old="elif not _in(key, given_up, node) or _in(key, still, node):",
        new="else:",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="schema walk: atomic maps are owned in parts",
        file="towtank/managed_fields/schema_walk.py",
        old="if node.type and node.merge is not MergeType.GRANULAR:",
        new="if False:",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="apply: what others own is one's own",
        file="towtank/managed_fields/server_side_apply.py",
        old=("others = [entry for entry in entries if not write.is_writer_of(entry, APPLY)]"),
        new="others = []",
        tests=(_MANAGERS,),
    ),
    Mutant(
        name="updates: times are changes",
        file="towtank/managed_fields/updates.py",
        old="for name, value in entry.items() if name != 'time'}",
        new="for name, value in entry.items()}",
        tests=(f"{_TESTS}/test_managed_fields.py::test_a_time_or_a_version_is_no_change",),
    ),
    Mutant(
        name="refusals: fractions as Python prints them",
        file="towtank/model/api_errors.py",
        old="if isinstance(value, float):",
        new="if False:",
        tests=(f"{_TESTS}/test_validation_rules.py::test_rules_say_what_the_api_server_says",),
    ),
    Mutant(
        name="metadata: two controllers",
        file="towtank/model/metadata_rules.py",
        old="if len(controllers) > 1:",
        new="if False:",
        tests=(f"{_TESTS}/test_metadata_rules.py::test_owners",),
    ),
    Mutant(
        name="metadata: dependents are orphaned and waited for",
        file="towtank/model/metadata_rules.py",
        old="if {'orphan', 'foregroundDeletion'} <= set(finalizers):",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="metadata: new finalizers on what is going",
        file="towtank/model/metadata_rules.py",
        old="if added and 'deletionTimestamp' in old:",
        new="if False:",
        tests=(f"{_TESTS}/test_metadata_rules.py::test_what_is_going_gets_no_new_finalizers",),
    ),
    Mutant(
        name="metadata: finalizers of Kubernetes' own have no domain",
        file="towtank/model/metadata_rules.py",
        old="'/' not in finalizer and finalizer not in _STANDARD_FINALIZERS",
        new="'/' not in finalizer",
        tests=(f"{_TESTS}/test_metadata_rules.py::test_finalizers_have_a_domain",),
    ),
    Mutant(
        name="field selectors: an unknown field selects all",
        file="towtank/model/object_selectors.py",
        old="if term.field not in known:",
        new="if False:",
        tests=(
            (
                f"{_TESTS}/test_object_selectors.py"
                "::test_fields_are_refused_with_the_words_of_kube_apiserver"
            ),
        ),
    ),
    Mutant(
        name="JSON patch: any number of operations",
        file="towtank/patches/json_patches.py",
        old="if len(patch) > MAX_OPERATIONS:",
        new="if False:",
        tests=(f"{_TESTS}/test_patches.py::test_a_json_patch_has_a_limit",),
    ),
    Mutant(
        name="JSON patch: what is not there is removed",
        file="towtank/patches/json_patches.py",
        old="if isinstance(container, dict) and token not in container:",
        new="if False:",
        tests=(f"{_TESTS}/test_patches.py::test_a_json_patch_does_what_an_api_server_did",),
    ),
    Mutant(
        name="strategic: a list of what is to be kept lacks some",
        file="towtank/patches/strategic.py",
        old=(
            "if not isinstance(retained, list) or any((name not in retained for "
            "name in patch if not _is_directive(name))):"
        ),
        new="if not isinstance(retained, list):",
        tests=(f"{_TESTS}/test_patches.py::test_a_strategic_patch_does_what_an_api_server_did",),
    ),
    Mutant(
        name="strategic: what is not named goes behind",
        file="towtank/patches/strategic.py",
        old="while others and stood.get(_identity(others[0], key), place) < place:",
        new="while False:",
        tests=(f"{_TESTS}/test_patches.py::test_a_strategic_patch_does_what_an_api_server_did",),
    ),
    Mutant(
        name="expressions: loops over large values",
        file="towtank/schemas/cel_expressions.py",
        old="if self._loops.exceeded([value, *priors]):",
        new="if False:",
        tests=(f"{_TESTS}/schemas/test_costs.py::test_loops_do_not_multiply_what_is_around_them",),
    ),
    Mutant(
        name="sizes: loops may make anything",
        file="towtank/schemas/cel_sizes.py",
        old="if not self.depth:",
        new="if True:",
        tests=(f"{_TESTS}/schemas/test_costs.py::test_loops_do_not_multiply_what_is_around_them",),
    ),
    Mutant(
        name="decoding: a part of a group of four",
        file="towtank/schemas/go_decoding.py",
        old="end if end < len(joined) else end // 4 * 4",
        new="end",
        tests=(
            (
                f"{_TESTS}/schemas/test_recorded.py"
                "::test_a_built_in_kind_is_decoded_as_the_api_server_does"
            ),
        ),
    ),
    Mutant(
        name="pruning: what the schema does not know stays in lists",
        file="towtank/schemas/pruning.py",
        old="elif isinstance(value, list) and node.items is not None:",
        new="elif False:",
        tests=(
            (
                f"{_TESTS}/schemas/test_recorded.py"
                "::test_a_built_in_kind_is_decoded_as_the_api_server_does"
            ),
        ),
    ),
    Mutant(
        name="defaults: of any length",
        file="towtank/schemas/pruning.py",
        old="if left[0] < 0:",
        new="if False:",
        tests=(f"{_TESTS}/schemas/test_costs.py::test_defaults_do_not_multiply",),
    ),
    Mutant(
        name="schemas: null is of no type",
        file="towtank/schemas/schema_validation.py",
        old="if value is None and node.nullable:",
        new="if False:",
        tests=(
            (
                f"{_TESTS}/schemas/test_recorded.py"
                "::test_a_custom_resource_becomes_what_the_api_server_makes_of_it"
            ),
        ),
    ),
    Mutant(
        name="structural: a map list of anything",
        file="towtank/schemas/structural.py",
        old="if items.get('type') != 'object':",
        new="if False:",
        tests=(
            (
                f"{_TESTS}/test_crd_strategy.py"
                "::test_definitions_are_refused_as_the_api_server_refuses_them"
            ),
        ),
    ),
    Mutant(
        name="rules: a transition rule is asked of what is new",
        file="towtank/schemas/validation_rules.py",
        old="if transition and (not (priors or rule.optional_old_self)):",
        new="if False:",
        tests=(f"{_TESTS}/test_validation_rules.py::test_rules_say_what_the_api_server_says",),
    ),
    Mutant(
        name="rules: what did not change is asked again",
        file="towtank/schemas/validation_rules.py",
        old="if untouched and (not transition):",
        new="if False:",
        tests=(
            (
                f"{_TESTS}/test_validation_rules.py"
                "::test_items_without_identity_are_as_untouched_as_their_list"
            ),
        ),
    ),
    Mutant(
        name="watches: what stops matching stays",
        file="towtank/serving/watch_streams.py",
        old="if not before or change.before is None:",
        new="if True:",
        tests=(
            (
                f"{_TESTS}/test_watch_streams.py"
                "::test_what_stops_matching_goes_and_what_starts_comes"
            ),
        ),
    ),
    Mutant(
        name="watches: what begins to match has changed",
        file="towtank/serving/watch_streams.py",
        old="'MODIFIED' if before else 'ADDED'",
        new="'MODIFIED'",
        tests=(
            (
                f"{_TESTS}/test_watch_streams.py"
                "::test_what_stops_matching_goes_and_what_starts_comes"
            ),
        ),
    ),
    Mutant(
        name="watches: the log of one that does not read grows",
        file="towtank/serving/watch_streams.py",
        old="len(self._changes) >= MAX_PENDING_CHANGES or",
        new="",
        tests=(f"{_TESTS}/test_watch_streams.py::test_a_slow_reader_is_dropped",),
    ),
    Mutant(
        name="frontend: bodies of any length",
        file="towtank/serving/frontend.py",
        old="if len(read) > MAX_BODY_BYTES:",
        new="if False:",
        tests=(f"{_TESTS}/test_frontend.py::test_a_body_is_read_up_to_the_limit",),
    ),
    Mutant(
        name="frontend: what will be too long is waited for",
        file="towtank/serving/frontend.py",
        old="if (request.content_length or 0) > MAX_BODY_BYTES:",
        new="if False:",
        tests=(f"{_TESTS}/test_frontend.py::test_a_body_that_will_be_too_long_is_not_waited_for",),
    ),
    Mutant(
        name="frontend: nobody may ask",
        file="towtank/serving/frontend.py",
        old="if not user and request.path not in _OPEN_PATHS:",
        new="if False:",
        tests=(f"{_TESTS}/test_frontend.py::test_nobody_is_asked_to_say_who_they_are",),
    ),
    Mutant(
        name="metadata: another object of that name is meant",
        file="towtank/storage/object_meta.py",
        old="if said and said != found and going:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="metadata: another name than the URL's",
        file="towtank/storage/object_meta.py",
        old="if said != name:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pages: a token of another question",
        file="towtank/storage/pages.py",
        old="when is None or asked != question or self._clock",
        new="when is None or self._clock",
        tests=(f"{_TESTS}/test_read_handlers.py::test_a_page_goes_on_with_its_own_list",),
    ),
    Mutant(
        name="pages: a token of another resource",
        file="towtank/storage/pages.py",
        old="resource.plural, ",
        new="",
        tests=(f"{_TESTS}/test_read_handlers.py::test_a_page_goes_on_with_its_own_list",),
    ),
    Mutant(
        name="pages: a token of another namespace",
        file="towtank/storage/pages.py",
        old="target.namespace, options",
        new="options",
        tests=(f"{_TESTS}/test_read_handlers.py::test_a_page_goes_on_with_its_own_list",),
    ),
    Mutant(
        name="pages: a token of another selector",
        file="towtank/storage/pages.py",
        old="namespace, options.label_selector, options",
        new="namespace, options",
        tests=(f"{_TESTS}/test_read_handlers.py::test_a_page_goes_on_with_its_own_list",),
    ),
    Mutant(
        name="pages: a token of another field selector",
        file="towtank/storage/pages.py",
        old="namespace, options.label_selector, options.field_selector)",
        new="namespace, options.label_selector)",
        tests=(f"{_TESTS}/test_read_handlers.py::test_a_page_goes_on_with_its_own_list",),
    ),
    Mutant(
        name="pages: a token lasts for ever",
        file="towtank/storage/pages.py",
        old=" or self._clock() - when > CONTINUE_LIFETIME",
        new="",
        tests=(f"{_TESTS}/test_read_handlers.py::test_a_token_grows_old",),
    ),
    Mutant(
        name="pages: any number of tokens",
        file="towtank/storage/pages.py",
        old="if len(self._left) > MAX_CONTINUED_LISTS:",
        new="if False:",
        tests=(f"{_TESTS}/test_read_handlers.py::test_a_token_grows_old",),
    ),
    Mutant(
        name="pages: a page is of the newest revision",
        file="towtank/storage/pages.py",
        old="return (revision, rest)",
        new="return (self._store.revision, rest)",
        tests=(f"{_TESTS}/test_read_handlers.py::test_pages_are_of_one_revision",),
    ),
    Mutant(
        name="pages: a token is used up",
        file="towtank/storage/pages.py",
        old="self._left.get(options.continue_, ",
        new="self._left.pop(options.continue_, ",
        tests=(f"{_TESTS}/test_read_handlers.py::test_pages_are_of_one_revision",),
    ),
    Mutant(
        name="pages: a token at any version",
        file="towtank/storage/pages.py",
        old="if options.resource_version not in ('', '0'):",
        new="if False:",
        tests=(f"{_TESTS}/test_read_handlers.py::test_a_token_has_its_version",),
    ),
    Mutant(
        name="store: the revision of a watch comes again",
        file="towtank/storage/store.py",
        old="if change.revision <= revision:",
        new="if change.revision < revision:",
        tests=(f"{_TESTS}/test_watch_streams.py::test_it_resumes_after_a_version",),
    ),
    Mutant(
        name="store: what is gone from the log is not missed",
        file="towtank/storage/store.py",
        old="if revision < history.compacted:",
        new="if False:",
        tests=(f"{_TESTS}/test_store.py::test_the_log_forgets_by_bytes",),
    ),
    Mutant(
        name="config maps: of any size",
        file="towtank/strategies/config_kinds.py",
        old="if size > MAX_DATA_BYTES:",
        new="if False:",
        tests=(f"{_TESTS}/strategies/test_limits.py::test_values_are_a_mebibyte_together",),
    ),
    Mutant(
        name="config maps: any key",
        file="towtank/strategies/config_kinds.py",
        old="if not _KEY.fullmatch(key):",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="definitions: no stored version",
        file="towtank/strategies/crd_validation.py",
        old="if not stored:",
        new="if False:",
        tests=(
            (
                f"{_TESTS}/test_crd_strategy.py"
                "::test_definitions_are_refused_as_the_api_server_refuses_them"
            ),
        ),
    ),
    Mutant(
        name="definitions: a label of any length",
        file="towtank/strategies/crd_validation.py",
        old="if len(value) > _LABEL_LIMIT:",
        new="if False:",
        tests=(
            f"{_TESTS}/test_crd_strategy.py::test_definitions_are_refused_as_the_api_server_refuses_them",
        ),
    ),
    Mutant(
        name="definitions: a label is one character shorter",
        file="towtank/strategies/crd_validation.py",
        old="if len(value) > _LABEL_LIMIT:",
        new="if len(value) >= _LABEL_LIMIT:",
        tests=(
            f"{_TESTS}/test_crd_strategy.py::test_definitions_are_refused_as_the_api_server_refuses_them",
        ),
    ),
    Mutant(
        name="kinds: the first kind's events",
        file="towtank/strategies/kind_registry.py",
        old="if resource.key == 'events'",
        new="",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="affinity of towtank: no skew at all",
        file="towtank/strategies/node_affinity_rules.py",
        old="if (skew := (constraint.get('maxSkew') or 0)) <= 0:",
        new="if (skew := (constraint.get('maxSkew') or 0)) < 0:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="nodes: a taint twice",
        file="towtank/strategies/node_strategy.py",
        old="if (key, effect) in seen:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="nodes: amounts below nothing",
        file="towtank/strategies/node_strategy.py",
        old="if value < 0:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pod defaults: a tag moves by its length",
        file="towtank/strategies/pod_defaults.py",
        old="in {'', 'latest'}",
        new="in {'latest'}",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pods: a container twice",
        file="towtank/strategies/pod_validation.py",
        old="if name and name in seen:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pods: a hook that sleeps longer than the pod",
        file="towtank/strategies/pod_validation.py",
        old=("if seconds is not None and grace is not None and (not 0 <= seconds <= grace):"),
        new="if False:",
        tests=(f"{_TESTS}/strategies/test_limits.py::test_a_hook_sleeps_no_longer_than_the_grace",),
    ),
    Mutant(
        name="pods: any cost of deletion",
        file="towtank/strategies/pod_validation.py",
        old="if _WHOLE.fullmatch(text) and int(text) in _INT32 else None",
        new="if _WHOLE.fullmatch(text) else None",
        tests=(f"{_TESTS}/strategies/test_limits.py::test_what_a_deletion_costs_is_a_number",),
    ),
    Mutant(
        name="budgets of towtank: a negative limit",
        file="towtank/strategies/policy.py",
        old="if isinstance(value, int) and value < 0:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="budgets of towtank: two limits",
        file="towtank/strategies/policy.py",
        old=("if spec.get('minAvailable') is not None and spec.get('maxUnavailable') is not None:"),
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="priority: above the system's",
        file="towtank/strategies/priority_class.py",
        old="if body['value'] > _HIGHEST:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="priority: a pod says another one than its class",
        file="towtank/strategies/priority_class.py",
        old="if said not in {None, computed}:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="priority: two defaults",
        file="towtank/strategies/priority_class.py",
        old="if body.get('globalDefault') and (other := _default_class(reads)):",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="roles: a binding changes its role",
        file="towtank/strategies/rbac.py",
        old="if new['roleRef'] == old['roleRef']:",
        new="if True:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="claims of towtank: an allocation changes",
        file="towtank/strategies/resource_claim.py",
        old="if allocation and before and (allocation != before):",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="services: the address changes",
        file="towtank/strategies/services.py",
        old="if before and now and (now[0] != before[0]):",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="services: ports without names",
        file="towtank/strategies/services.py",
        old="if name or len(ports) > 1:",
        new="if name:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="volumes of towtank: a claim without an amount",
        file="towtank/strategies/storage_kinds.py",
        old="if 'storage' not in (spec['resources'].get('requests') or {}):",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pod groups: nothing holds one that pods use",
        file="towtank/strategies/pod_group.py",
        old="if FINALIZER not in finalizers:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pod groups: a gang becomes a basic group",
        file="towtank/strategies/pod_group.py",
        old="elif before.get('gang') is not None and now.get('gang') is None:",
        new="elif False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="schemas: objects in objects need no kind",
        file="towtank/schemas/schema_parser.py",
        old="if not node.embedded:",
        new="if True:",
        tests=(f"{_TESTS}/schemas/test_recorded.py", f"{_TESTS}/schemas/test_properties.py"),
    ),
    Mutant(
        name="workloads: a job's completions change",
        file="towtank/strategies/workload.py",
        old="if new['spec']['completionMode'] != 'Indexed':",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="jobs: a number that has succeeded is made again",
        file="towtank/controllers/job.py",
        old="(*active, *self._ended(job, 'Succeeded'))",
        new="active",
        tests=(f"{_TESTS}/controllers/test_job.py",),
    ),
    Mutant(
        name="binding: a bound pod is bound again",
        file="towtank/subresources/pod_binding.py",
        old="if (node := pod['spec'].get('nodeName')):",
        new="if (node := None):",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="binding: gates are overlooked",
        file="towtank/subresources/pod_binding.py",
        old="if pod['spec'].get('schedulingGates'):",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="binding: another pod's name",
        file="towtank/subresources/pod_binding.py",
        old="if (binding.get('metadata') or {}).get('name') != target.name:",
        new="if False:",
        tests=(
            (
                f"{_TESTS}/strategies/test_recorded_objects.py"
                "::test_writing_back_what_was_read_changes_nothing"
            ),
        ),
    ),
    Mutant(
        name="eviction: two budgets",
        file="towtank/subresources/pod_eviction.py",
        old="if len(budgets) > 1:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="eviction: a ready pod is no loss",
        file="towtank/subresources/pod_eviction.py",
        old="if conditions.holds(pod, 'Ready'):",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="reviews: two questions, or none",
        file="towtank/subresources/review.py",
        old=(
            "if (spec.get('resourceAttributes') is None) == "
            "(spec.get('nonResourceAttributes') is None):"
        ),
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="reviews: nobody's token",
        file="towtank/subresources/review.py",
        old="if not token:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="scale: a negative number of replicas",
        file="towtank/subresources/scale_subresource.py",
        old="if (replicas := (at(wanted, 'spec.replicas') or 0)) < 0:",
        new="if (replicas := (at(wanted, 'spec.replicas') or 0)) < -9:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="scale: a version that is no more",
        file="towtank/subresources/scale_subresource.py",
        old=(
            "if metadata.get('resourceVersion') not in {None, '', "
            "body['metadata']['resourceVersion']}:"
        ),
        new="if False:",
        tests=(
            (
                f"{_TESTS}/strategies/test_subresources.py"
                "::test_a_custom_resource_is_scaled_where_its_definition_says"
            ),
        ),
    ),
    Mutant(
        name="subresources: a scale of what has none",
        file="towtank/subresources/subresource_table.py",
        old="target.subresource == 'scale' and target.resource.scale",
        new="target.subresource == 'scale'",
        tests=(f"{_TESTS}/test_dispatcher.py::test_codes",),
    ),
    Mutant(
        name="tables: a node has roles of other labels",
        file="towtank/tables/core_tables.py",
        old=" if label.startswith(_ROLE)",
        new="",
        tests=(f"{_TESTS}/test_tables.py::test_cells_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="JSON paths: an index beyond the end",
        file="towtank/tables/json_paths.py",
        old="-len(value) <= index < len(value)",
        new="True",
        tests=(f"{_TESTS}/test_tables.py::test_columns_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="tables: null is printed as it is",
        file="towtank/tables/other_tables.py",
        old="if value is None:",
        new="if False:",
        tests=(f"{_TESTS}/test_tables.py::test_cells_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="tables: every account of a binding is a service's",
        file="towtank/tables/other_tables.py",
        old=" if each['kind'] == 'ServiceAccount'",
        new="",
        tests=(f"{_TESTS}/test_tables.py::test_cells_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="tables: true is a number",
        file="towtank/tables/other_tables.py",
        old=(
            "return int(value) if isinstance(value, int | float) and (not "
            "isinstance(value, bool)) else None"
        ),
        new="return int(value) if isinstance(value, int | float) else None",
        tests=(f"{_TESTS}/test_tables.py::test_cells_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="tables: a sidecar holds up the others",
        file="towtank/tables/pod_tables.py",
        old="if each['name'] in sidecars and each.get('started'):",
        new="if False:",
        tests=(f"{_TESTS}/test_tables.py::test_cells_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="tables: the first restart is the last",
        file="towtank/tables/pod_tables.py",
        old="last = max(last,",
        new="last = min(last,",
        tests=(f"{_TESTS}/test_tables.py::test_cells_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="tables: any object goes with a row",
        file="towtank/tables/printer.py",
        old="if include_object not in _INCLUDED:",
        new="if False:",
        tests=(f"{_TESTS}/test_tables.py::test_rows_carry_metadata_or_the_object_or_nothing",),
    ),
    Mutant(
        name="tables: the annotation goes after the field",
        file="towtank/tables/storage_tables.py",
        old="annotations.get(_CLASS, spec(body).get('storageClassName') or '')",
        new="spec(body).get('storageClassName') or annotations.get(_CLASS, '')",
        tests=(f"{_TESTS}/test_tables.py::test_cells_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="tables: a job that is going runs",
        file="towtank/tables/workload_tables.py",
        old="if deleted(body):",
        new="if False:",
        tests=(f"{_TESTS}/test_tables.py::test_cells_are_those_of_kube_apiserver",),
    ),
    Mutant(
        name="accept: the first is preferred",
        file="towtank/wire/accept.py",
        old="sorted(clauses, key=lambda clause: -_quality(clause[1].get('q', '1')))",
        new="list(clauses)",
        tests=(f"{_TESTS}/test_dispatcher.py::test_forms",),
    ),
    Mutant(
        name="accept: nothing that is served",
        file="towtank/wire/accept.py",
        old=("if not any((media == '*/*' or media in SERVED for media, _ in clauses)):"),
        new="if False:",
        tests=(f"{_TESTS}/test_read_handlers.py::test_forms_that_are_not_served",),
    ),
    Mutant(
        name="bodies: of any depth",
        file="towtank/wire/bodies.py",
        old="if text.count('{') + text.count('[') > MAX_DEPTH:",
        new="if False:",
        tests=(f"{_TESTS}/test_bodies.py::test_what_is_too_deep_is_refused",),
    ),
    Mutant(
        name="protobuf: a text that is cut off",
        file="towtank/wire/protobuf.py",
        old="if at + length > len(data):",
        new="if False:",
        tests=(f"{_TESTS}/test_protobuf.py::test_what_is_cut_short_is_no_object",),
    ),
    Mutant(
        name="protobuf: Go's zero time is a time",
        file="towtank/wire/protobuf.py",
        old="if not data or seconds < 0:",
        new="if not data:",
        tests=(f"{_TESTS}/test_protobuf.py::test_times",),
    ),
    Mutant(
        name="YAML: of any length",
        file="towtank/wire/yaml_codec.py",
        old="if count > MAX_YAML_EVENTS:",
        new="if False:",
        tests=(f"{_TESTS}/test_bodies.py::test_large_yaml_is_refused_soon",),
    ),
    Mutant(
        name="options: numbers of any size",
        file="towtank/wire/options.py",
        old="if not -(1 << 63) <= number < 1 << 63:",
        new="if False:",
        tests=(f"{_TESTS}/test_options.py::test_a_number_has_64_bits",),
    ),
    Mutant(
        name="options: the smallest number is too small",
        file="towtank/wire/options.py",
        old="not -(1 << 63) <= number",
        new="not -(1 << 63) < number",
        tests=(f"{_TESTS}/test_options.py::test_a_number_may_be_spelt_like_this",),
    ),
    Mutant(
        name="options: no digits are no number",
        file="towtank/wire/options.py",
        old="if text is None:",
        new="if not text:",
        tests=(f"{_TESTS}/test_options.py::test_what_is_no_number_is_refused",),
    ),
    Mutant(
        name="options: a manager has characters",
        file="towtank/wire/options.py",
        old="len(manager.encode()) >",
        new="len(manager) >",
        tests=(f"{_TESTS}/test_options.py::test_a_manager_has_128_bytes_that_can_be_printed",),
    ),
    Mutant(
        name="options: a match beside a token",
        file="towtank/wire/options.py",
        old="if match and options.continue_:",
        new="if False:",
        tests=(f"{_TESTS}/test_options.py::test_a_match_is_of_a_version",),
    ),
    Mutant(
        name="options: dry runs of any sort",
        file="towtank/wire/options.py",
        old="if said not in ([], ['All']):",
        new="if False:",
        tests=(f"{_TESTS}/test_options.py::test_options_of_a_write_are_spelt_as_they_are",),
    ),
    Mutant(
        name="shapes: no nodes",
        file="towtank/node_shapes.py",
        old="if not found:",
        new="if False:",
        tests=(f"{_TESTS}/test_node_shapes.py::test_what_is_wrong_is_said",),
    ),
    Mutant(
        name="verbs: what changes nothing is a change",
        file="towtank/storage/verbs.py",
        old="if managed_fields.same(new, old):",
        new="if False:",
        tests=(
            f"{_TESTS}/strategies/test_recorded_objects.py::test_writing_back_what_was_read_changes_nothing",
        ),
    ),
    Mutant(
        name="verbs: finalizers for dependents add up",
        file="towtank/storage/verbs.py",
        old="others = [each for each in there if each not in _FINALIZERS.values()]",
        new="others = [*there]",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="verbs: what is usual goes before what is there",
        file="towtank/storage/verbs.py",
        old="if not asked and others != there:",
        new="if False:",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="verbs: nothing is usual",
        file="towtank/storage/verbs.py",
        old="_FINALIZERS.get(asked or usual)",
        new="_FINALIZERS.get(asked)",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="verbs: who goes is not asked again what becomes of dependents",
        file="towtank/storage/verbs.py",
        old="settled = new['metadata'].get('deletionGracePeriodSeconds') or new == old.body",
        new="settled = True",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="verbs: who ends by and by is asked again",
        file="towtank/storage/verbs.py",
        old="settled = new['metadata'].get('deletionGracePeriodSeconds') or new == old.body",
        new="settled = new == old.body",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="discovery: is written to",
        file="towtank/handlers/discovery.py",
        old="if found is not None and request.method not in ('GET', 'HEAD'):",
        new="if False:",
        tests=(f"{_TESTS}/test_dispatcher.py::test_codes",),
    ),
    Mutant(
        name="definitions: served before it is established",
        file="towtank/strategies/crd.py",
        old="if not conditions.holds(definition, 'Established'):",
        new="if False:",
        tests=(f"{_TESTS}/test_crd_strategy.py::test_names_that_another_definition_has",),
    ),
    Mutant(
        name="kubelet status: a gate is open",
        file="towtank/controllers/kubelet_status.py",
        old="if all((conditions.holds(pod, gate['conditionType']) for gate",
        new="if True or all((conditions.holds(pod, gate['conditionType']) for gate",
        tests=(f"{_TESTS}/controllers/test_kubelet.py::test_readiness_gates_are_waited_for",),
    ),
    Mutant(
        name="stateful sets: nobody waits for the one before",
        file="towtank/controllers/stateful_set.py",
        old="if not serves and (not together):",
        new="if False:",
        tests=(f"{_TESTS}/controllers/test_stateful_set.py::test_pods_have_numbers",),
    ),
    Mutant(
        name="stateful sets: everybody waits",
        file="towtank/controllers/stateful_set.py",
        old="together = spec.get('podManagementPolicy') == 'Parallel'",
        new="together = False",
        tests=(f"{_TESTS}/controllers/test_stateful_set.py::test_in_parallel_nobody_waits",),
    ),
    Mutant(
        name="stateful sets: the lowest goes first",
        file="towtank/controllers/stateful_set.py",
        old=", reverse=True)",
        new=")",
        tests=(f"{_TESTS}/controllers/test_stateful_set.py::test_one_waits_for_the_one_before",),
    ),
    Mutant(
        name="stateful sets: all go at once",
        file="towtank/controllers/stateful_set.py",
        old="for pod in pods if together else pods[:1]:",
        new="for pod in pods:",
        tests=(f"{_TESTS}/controllers/test_stateful_set.py::test_one_waits_for_the_one_before",),
    ),
    Mutant(
        name="stateful sets: who does not serve goes",
        file="towtank/controllers/stateful_set.py",
        old="waits = not together and pod in unready[:-1]",
        new="waits = False",
        tests=(
            f"{_TESTS}/controllers/test_stateful_set.py::test_who_does_not_serve_holds_up_the_way_down",
        ),
    ),
    Mutant(
        name="stateful sets: numbers begin at nothing",
        file="towtank/controllers/stateful_set.py",
        old="first = spec.get('ordinals', {}).get('start', 0)",
        new="first = 0",
        tests=(f"{_TESTS}/controllers/test_stateful_set.py::test_one_waits_for_the_one_before",),
    ),
    Mutant(
        name="pods of towtank: everybody is served at best",
        file="towtank/strategies/pod.py",
        old="return 'Burstable'",
        new="return 'Guaranteed'",
        tests=(
            f"{_TESTS}/strategies/test_recorded_objects.py::test_answers_are_those_of_a_kube_apiserver",
        ),
    ),
    Mutant(
        name="pods of towtank: requests do not count for the class",
        file="towtank/strategies/pod.py",
        old="len(limits) != len(_COUNTED) or limits != requests",
        new="len(limits) != len(_COUNTED)",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pods of towtank: one limit is enough for the class",
        file="towtank/strategies/pod.py",
        old="len(limits) != len(_COUNTED) or limits != requests",
        new="limits != requests",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pods of towtank: limits are no service",
        file="towtank/strategies/pod.py",
        old="for which in ('limits', 'requests'))",
        new="for which in ('requests',))",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pods of towtank: requests are no service",
        file="towtank/strategies/pod.py",
        old="for which in ('limits', 'requests'))",
        new="for which in ('limits',))",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pods of towtank: nothing is an amount",
        file="towtank/strategies/pod.py",
        old="for name, amount in read.items() if amount}",
        new="for name, amount in read.items()}",
        tests=(_RECORDED,),
    ),
    Mutant(
        name="pods of towtank: only containers are served",
        file="towtank/strategies/pod.py",
        old="if whole is None else [spec]",
        new="if True else [spec]",
        tests=(_RECORDED,),
    ),
)
