"""The mutants, by the mechanism that each takes out."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="undo: an assumed pod stays when its binding fails",
        file="core/cycle.py",
        old="        cache.forget(placement.pod.metadata.uid)\n",
        new="        pass\n",
        tests=("tests/engine/test_binding.py",),
    ),
    Mutant(
        name="fence: never closed by time",
        file="ports/fencing.py",
        old="return self._boottime() < self._deadline",
        new="return True",
        tests=("tests/adapters/test_lease.py", "tests/adapters/test_kube_writes.py"),
    ),
    Mutant(
        name="slots: shared by all profiles",
        file="engine/slots.py",
        old="        self._taken[name] += 1\n        if",
        new="        name = ''\n        self._taken[name] += 1\n        if",
        tests=("tests/engine/test_slots.py",),
    ),
    Mutant(
        name="slots: a full profile is not passed over",
        file="engine/slots.py",
        old="            self.full.add(name)\n",
        new="            pass\n",
        tests=("tests/engine/test_slots.py", "tests/engine/test_loop.py"),
    ),
    Mutant(
        name="deadline of bind: never broken off",
        file="engine/binding.py",
        old="            if now - binding.since > limit:\n",
        new="            if now - binding.since > limit and binding.stage is Stage.PREPARING:\n",
        tests=("tests/engine/test_slots.py",),
    ),
    Mutant(
        name="one 404 of a binding is a fact",
        file="engine/sending.py",
        old="isinstance(error, Conflict | NotFound)",
        new="isinstance(error, Conflict)",
        tests=("tests/engine/test_binding.py",),
    ),
    Mutant(
        name="undo: cut short while a device is given back",
        file="engine/actors/device_binder.py",
        old="await uninterrupted(self._give_up(writing, pod, held))",
        new="await self._give_up(writing, pod, held)",
        tests=("tests/engine/test_clean_up.py",),
    ),
    Mutant(
        name="undo: cut short while what was prepared is taken back",
        file="engine/binding.py",
        old="await uninterrupted(self._take_back(binding))",
        new="await self._take_back(binding)",
        tests=("tests/engine/test_clean_up.py",),
    ),
    Mutant(
        name="one 404 of an eviction is a fact",
        file="engine/preempting.py",
        old="if not isinstance(error, Retryable) and await self._reads.pod_node(pod_ref(pod)) is None:",
        new="if not isinstance(error, Retryable):",
        tests=("tests/engine/test_evicting.py",),
    ),
    Mutant(
        name="one 404 for a claim's end is a fact",
        file="engine/actors/device_binder.py",
        old="isinstance(error, Conflict | NotFound | Retryable)",
        new="isinstance(error, Conflict | Retryable)",
        tests=("tests/engine/test_clean_up.py", "tests/engine/test_having_devices.py"),
    ),
    Mutant(
        name="extenders: a cycle that has not begun is cancelled",
        file="engine/extending.py",
        old="if self.running and self.task is not None:",
        new="if self.task is not None:",
        tests=("tests/engine/test_extending.py",),
    ),
    Mutant(
        name="takeover: a late watch holds back nobody",
        file="engine/engine.py",
        old="if kind.name in self._late or not self.others[kind].synced",
        new="if not self.others[kind].synced",
        tests=("tests/engine/test_other_kinds.py",),
    ),
    Mutant(
        name="takeover: a profile that waits is never looked at again",
        file="engine/swapping.py",
        old="        elif record.waits_for:\n            self._apply_suspension(record)\n",
        new="",
        tests=("tests/engine/test_other_kinds.py",),
    ),
    Mutant(
        name="all or none: steps are not taken back",
        file="core/columns/all_or_none.py",
        old="            step[0](*step[1:], -sign)\n",
        new="            pass\n",
        tests=("tests/core/columns/test_all_or_none.py",),
    ),
    Mutant(
        name="all or none: a pod that moves is lost",
        file="core/columns/cache.py",
        old="            self._add(old)\n            raise",
        new="            raise",
        tests=("tests/core/columns/test_all_or_none.py",),
    ),
    Mutant(
        name="all or none: an object stays although its follower failed",
        file="core/columns/store.py",
        old="            _set(objects, name, old)\n",
        new="",
        tests=("tests/core/columns/test_all_or_none.py",),
    ),
    Mutant(
        name="names: numbers are never free again",
        file="core/columns/numbering.py",
        old="            self.values[old] = self.values[0]\n            self._free.append(old)\n",
        new="",
        tests=("tests/engine/test_churn.py",),
    ),
    Mutant(
        name="names: resources stay",
        file="core/columns/sparse.py",
        old="        if not last:\n            del self._names[name]\n",
        new="",
        tests=("tests/engine/test_churn.py",),
    ),
    Mutant(
        name="names: large templates are kept by number",
        file="core/framework/runner.py",
        old=" + self._said * _DECODED",
        new="",
        tests=("tests/core/framework/test_cycle.py",),
    ),
    Mutant(
        name="names: answers are kept by number",
        file="core/remembering.py",
        old="self._total > BUDGET or ",
        new="",
        tests=("tests/core/test_remembering.py",),
    ),
    Mutant(
        name="names: large events are kept by number",
        file="core/backlog/in_flight.py",
        old=" or self._total > BUDGET",
        new="",
        tests=("tests/core/backlog/test_in_flight.py",),
    ),
)
