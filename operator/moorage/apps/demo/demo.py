"""The demo's command: start everything, show it, end everything."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from moorage.apps.demo import samples, tour
from moorage.apps.demo.control_plane import (
    REPLICAS,
    ControlPlane,
    OperatorProcess,
    settings_of,
)
from moorage.apps.demo.kube_client import KubeClient, KubeClientError, client_pem
from moorage.apps.demo.processes import Processes, ProcessFailed
from moorage.apps.demo.screen import Screen
from moorage.apps.demo.stage import DemoSession
from moorage.apps.demo.tour import NotObserved
from moorage.apps.demo.watcher import ClusterWatcher
from moorage.ports.texts import printable_lines

READY_SECONDS = 60.0
INTERRUPTED = 130
_ENDED = "The demo has ended; nothing of it is left. While it runs, the same is a page: moorage ui"


@dataclasses.dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the command line says; ``control_plane`` is the command that starts one, ``config`` an
    OperatorConfiguration.
    """

    control_plane: Sequence[str]
    config: Path | None = None
    tour: bool = False
    exit_after_tour: bool = False
    pace: float = 0.0


def run(options: DemoOptions) -> int:
    """Run until Ctrl-C, or to the tour's end; 1 when something failed, 130 when it was interrupted
    before it was done with that. Raises WrongUse.
    """
    configured = settings_of(options.config)
    # a shell's background processes are started with SIGINT ignored
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    status = INTERRUPTED
    try:
        _run(options, configured)
        status = 0
    except KeyboardInterrupt:
        pass
    except (KubeClientError, NotObserved, ProcessFailed) as error:
        print(f"moorage: demo: {printable_lines(str(error))}", file=sys.stderr)
        status = 1
    print(_ENDED, flush=True)
    return status


def _run(options: DemoOptions, configured: Mapping[str, Any]) -> None:
    started = time.monotonic()
    with ExitStack() as stack:
        screen = Screen(Console())
        processes = stack.enter_context(Processes())
        stack.callback(_do_not_disturb)  # the first thing that is done at the end
        stage = _start(stack, screen, processes, options, configured)
        _wait_until_ready(stage, started)
        if options.exit_after_tour:
            _tour(stage, options)
            return
        with suppress(KeyboardInterrupt):  # Ctrl-C is how it ends, and what is said next says so
            instructions = _instructions(stage, processes.folder)
            screen.say(instructions)
            with screen.board(_export(stage), instructions):
                if options.tour:
                    _tour(stage, options)
                stage.run()


def _do_not_disturb() -> None:
    """A second Ctrl-C must not keep us from cleaning up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _start(
    stack: ExitStack,
    screen: Screen,
    processes: Processes,
    options: DemoOptions,
    configured: Mapping[str, Any],
) -> DemoSession:
    """Start the control plane, the replicas and what watches them."""
    screen.say("... a control plane")
    plane = ControlPlane(processes, options.control_plane)
    plane.wait()
    screen.say(f"... the operator, {REPLICAS} replicas")
    replicas = [
        OperatorProcess(processes, f"moorage-{number}", plane.operators_kubeconfig, configured)
        for number in range(REPLICAS)
    ]
    screen.say("... definitions, sample profiles, pods")
    api = stack.enter_context(closing(KubeClient(plane.kubeconfig)))
    stage = DemoSession(plane, replicas, api, ClusterWatcher(api, replicas), screen, options.pace)
    samples.put(api, stage.plane.require)
    return stage


def _wait_until_ready(stage: DemoSession, started: float) -> None:
    stage.until(
        lambda: stage.look().ready or None,
        "profiles to be ready and to decide about the sample pods",
        READY_SECONDS,
    )
    stage.say(f"Ready after {time.monotonic() - started:.1f} s.", "bold green")
    if refused := stage.look().refused:
        stage.say(f"{len(refused)} of the samples find no room on these nodes.", "yellow")


def _tour(stage: DemoSession, options: DemoOptions) -> None:
    if options.pace and sys.stdin.isatty():
        stage.say(f"The tour waits {options.pace:g} s after each text; Enter goes on at once.")
    seen = "were seen" if tour.play(stage) else "that these nodes can show were seen"
    stage.say(f"\nThe tour is over; all effects {seen}.", "bold green")


_DEFAULT = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": "default-scheduler"},
    "spec": {},
}
_MOVING = f"""
Deployments {" and ".join(samples.PROFILES)} in namespace {samples.NAMESPACE} grow and shrink by themselves, to give you something to see.
One that you scale yourself stays as you want it: kubectl -n {samples.NAMESPACE} scale deployment {samples.PROFILES[0]} --replicas=5
"""


_INSTRUCTIONS = """
In another terminal:

  {export}{missing}
  moorage status                                 # whether all is well; `moorage queue`: who waits, and for what
  moorage ui                                     # all of it as a page
  kubectl get sprof -o wide                      # profiles; `kubectl get pcfg`: the configurations that they reference
  kubectl get sprof binpack -o yaml              # effective plugins, revisions, queue, leader, replicas

  # Change a configuration: the next pod is placed by it, with no restart (a moment later; a script has to wait for that).
  kubectl patch pcfg mostly-cpu --type=merge -p '{{"spec":{{"args":{{"scoringStrategy":{{"type":"LeastAllocated"}}}}}}}}'
  sleep 1
  kubectl -n {namespace} run more --image=none --overrides='{{"spec":{{"schedulerName":"binpack"}}}}'
  kubectl -n {namespace} get pods -o wide
  kubectl patch pcfg mostly-cpu --type=merge -p '{{"spec":{{"args":{{"scoringStrategy":{{"type":null}}}}}}}}'      # as it was

  # Break a profile: it is refused, and the last good revision goes on.
  kubectl patch sprof binpack --type=merge -p '{{"spec":{{"weights":{{"NodeResourcesFitt":3}}}}}}'
  sleep 1
  kubectl get sprof
  kubectl patch sprof binpack --type=merge -p '{{"spec":{{"weights":{{"NodeResourcesFitt":null}}}}}}'   # as it was

  # A pod whose schedulerName is no profile's waits for ever. Those that name none have "default-scheduler": make it a profile.
  kubectl create deployment web --image=none
  echo '{default}' | kubectl apply -f -
{moving}
Logs: {folder}/moorage-*.log
All that is decided, recorded: {folder}/moorage-*-recordings/*.rec
/metrics, /configz and /debug: {addresses}
  curl -k --cert {pem} https://127.0.0.1:{port}/debug/queue
Kill the leader's process (kill -9 {pid}), and the other one takes over. Ctrl-C ends all and leaves nothing.
"""
_NO_KUBECTL = (
    "\n  # kubectl is not on this machine. Without it `moorage demo --tour` shows the same."
)


def _instructions(stage: DemoSession, folder: Path) -> str:
    """What to type in another terminal."""
    leads = {replica.name for replica in stage.look().replicas if replica.leads}
    leader = next((one for one in stage.replicas if one.name in leads), stage.replicas[0])
    addresses = [
        f"https://127.0.0.1:{one.port} ({one.name}{', leads' if one.name in leads else ''})"
        for one in stage.replicas
    ]
    return _INSTRUCTIONS.format(
        export=_export(stage),
        missing="" if shutil.which("kubectl") else _NO_KUBECTL,
        namespace=samples.NAMESPACE,
        default=json.dumps(_DEFAULT),
        moving=_MOVING if stage.screen.live else "",
        folder=folder,
        addresses=", ".join(addresses),
        pem=shlex.quote(str(_written_pem(stage, folder))),
        port=leader.port,
        pid=leader.pid,
    )


def _export(stage: DemoSession) -> str:
    """What to type first."""
    return f"export KUBECONFIG={shlex.quote(str(stage.plane.kubeconfig))}"


def _written_pem(stage: DemoSession, folder: Path) -> Path:
    pem = folder / "admin.pem"
    pem.touch(mode=0o600)
    pem.write_text(client_pem(stage.plane.kubeconfig), encoding="utf-8")
    return pem
