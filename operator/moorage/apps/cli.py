"""The command line: what may be typed after `moorage`.

Exit status: 0 it is so, 1 it is not (or the operator failed), 2 wrong use, 3 no answer. Everything
heavy is imported inside the commands, so that `moorage --help` answers at once.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import moorage
from moorage.apps.authority import authority_command
from moorage.apps.bundle import bundle_command
from moorage.apps.commands import completion_command
from moorage.apps.commands.command_line import (
    COMPLETE,
    end,
    fail,
    option,
    output_option,
    read,
    variable,
    with_parameters,
)
from moorage.apps.commands.input_files import on_disk
from moorage.apps.commands.output_files import write_text
from moorage.apps.commands.standard_streams import open_closed_streams, written_out
from moorage.apps.explain import command as explaining
from moorage.apps.fit import fit_command as fitting
from moorage.apps.install import install_command, uninstall_command
from moorage.apps.recordings import recording_commands
from moorage.apps.revisions import typed as revisions
from moorage.apps.simulate import simulate_command as simulating
from moorage.apps.status import status_command
from moorage.apps.trial import trial_command
from moorage.apps.tune import tune_command
from moorage.apps.ui import ui_command
from moorage.apps.waiting import queue_command
from moorage.ports.texts import printable


@dataclasses.dataclass(frozen=True, slots=True)
class Flag:
    """A flag of `moorage run` and the field of the OperatorConfiguration that it sets; the
    configuration parses and checks it.
    """

    name: str
    field: str
    text: str


FLAGS = (
    Flag(
        "--kubeconfig",
        "clientConnection.kubeconfig",
        "File that says how to reach the API server; else the pod's service account.",
    ),
    Flag(
        "--master",
        "clientConnection.master",
        "Address of the API server; overrides the kubeconfig's.",
    ),
    Flag(
        "--leader-elect",
        "leaderElection.leaderElect",
        "Lead only while holding the lease: true (as by default) or false.",
    ),
    Flag(
        "--leader-elect-lease-duration",
        "leaderElection.leaseDuration",
        "How long a lease is valid that is not renewed, as in 15s.",
    ),
    Flag(
        "--leader-elect-renew-deadline",
        "leaderElection.renewDeadline",
        "A leader that could not renew for so long gives up, as in 10s.",
    ),
    Flag(
        "--leader-elect-retry-period",
        "leaderElection.retryPeriod",
        "Time between attempts to get or renew the lease, as in 2s.",
    ),
    Flag("--leader-elect-resource-name", "leaderElection.resourceName", "Name of the Lease."),
    Flag(
        "--leader-elect-resource-namespace",
        "leaderElection.resourceNamespace",
        "Namespace of the Lease and of stored revisions.",
    ),
    Flag(
        "--controller-name",
        "controllerName",
        "Serve the SchedulerProfiles that have this controllerName.",
    ),
    Flag(
        "--pod-max-in-unschedulable-pods-duration",
        "podMaxInUnschedulablePodsDuration",
        "A refused pod is tried again after this long, whatever happened, as in 5m.",
    ),
    Flag("--bind-address", "serving.bindAddress", "Address for health and metrics."),
    Flag(
        "--secure-port",
        "serving.securePort",
        "Port for health and metrics, over HTTPS; 0 takes any free one.",
    ),
    Flag(
        "--tls-cert-file",
        "serving.certFile",
        "Certificate for health and metrics; else one that is signed by itself.",
    ),
    Flag("--tls-private-key-file", "serving.keyFile", "Its key."),
    Flag("--logging-format", "logging.format", "text or json."),
    Flag("--v", "logging.verbosity", "0: little, 2: every decision, 4: debugging."),
)
BOOLEANS = ("--leader-elect",)
"""Flags that may stand alone, as in kube-scheduler; Typer wants a value."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A Kubernetes scheduler whose profiles and plugins are custom resources.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"moorage {moorage.__version__}")
        raise typer.Exit


@app.callback()
def _program(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """What goes for all commands; its help is the application's."""


KUBECTL_COMPLETION = "kubectl_complete-moorage"
"""The name by which kubectl asks what could come next after `kubectl moorage`."""
PROGRAMS = {"kubectl-moorage": "kubectl moorage"}
"""What usage lines call the program by another name of it."""


def main() -> None:
    """The program; raises SystemExit."""
    open_closed_streams()
    with written_out():
        _do_what_is_typed()


def _do_what_is_typed() -> None:
    called, words = Path(sys.argv[0]).name, sys.argv[1:]
    if called == KUBECTL_COMPLETION or words[:1] == [COMPLETE]:
        from moorage.apps.commands import completion

        completion.answer(app, words if called == KUBECTL_COMPLETION else words[1:])
        return
    name = PROGRAMS.get(called, "moorage")
    app(args=[_as_typer_has_it(word) for word in words], prog_name=name)


def _as_typer_has_it(word: str) -> str:
    """A word of the command line as Go's flags have it."""
    if word in BOOLEANS:
        return f"{word}=true"
    return f"-{word}" if word.startswith("-v=") else word


_CONFIG = "File with an OperatorConfiguration; environment and flags override it."


@app.command()
@with_parameters(
    option("--config", Path | None, None, _CONFIG),
    option(
        "--write-config-to", Path | None, None, "Write the effective configuration there and exit."
    ),
    *(option(flag.name, str | None, None, flag.text) for flag in FLAGS),
)
def run(**flags: Any) -> None:
    """Run the operator until it is told to end."""
    from moorage.api.operator_config import ConfigErrors, dump_config, load_config

    values = {flag.field: flags[variable(flag.name)] for flag in FLAGS}
    given = {field: value for field, value in values.items() if value is not None}
    text = None if flags["config"] is None else read(flags["config"], "--config")
    try:
        config = load_config(text, os.environ, given)
    except ConfigErrors as errors:
        fail(*map(str, errors.errors))
    if flags["write_config_to"] is not None:
        _write(flags["write_config_to"], dump_config(config))
        return
    from moorage.apps.run import operator_process

    raise SystemExit(operator_process.run(config))


_CHECK_CONFIG = (
    "The operator's OperatorConfiguration: with its plugins, and its values for what profiles "
    "leave out."
)


@app.command()
@with_parameters(option("--config", Path | None, None, _CHECK_CONFIG), output_option())
def check(
    files: Annotated[list[Path], typer.Argument(help="YAML files, or folders of them.")],
    **flags: Any,
) -> None:
    """Check SchedulerProfiles and PluginConfigs without a cluster."""
    from moorage.api.operator_config import ConfigErrors, load_config
    from moorage.apps import check as checks
    from moorage.apps.run.plugin_packages import PackageErrors

    given = flags["config"]
    try:
        config = None if given is None else load_config(read(given, "--config"), {}, {})
        report = checks.check(files, config)
    except (ConfigErrors, PackageErrors) as errors:
        fail(*map(str, errors.errors))
    from moorage.apps.printing.documents import document, is_for_people

    if is_for_people(flags["output"]) or not report.document:
        for line in report.lines:
            print(printable(line))
    else:
        print(document("Check", report.document, flags["output"]), end="")
    raise SystemExit(report.status)


_DOCUMENTS = (
    "Files of KubeSchedulerConfigurations (v1, v1beta3, v1beta2), legacy Policies, ConfigMaps with "
    "them, or what --from names; - is stdin."
)


@app.command()
@with_parameters(
    option(
        "--from",
        Literal["kube-scheduler", "eks", "aks", "volcano", "yunikorn"],
        "kube-scheduler",
        "Whose configuration it is.",
    ),
    option("--key", str | None, None, "The only key to look at in ConfigMaps, as in policy.cfg."),
    option(
        "--algorithm-provider",
        str | None,
        None,
        "DefaultProvider or ClusterAutoscalerProvider, as it was up to 1.22.",
    ),
    option(
        "--feature-gates",
        str,
        "",
        "The flag of kube-scheduler, as in GenericWorkload=true,StorageCapacityScoring=false.",
    ),
    option(
        "--plugin-configs",
        bool,
        False,
        "Put all arguments into PluginConfigs, not only those that profiles share.",
    ),
)
def convert(
    files: Annotated[list[str] | None, typer.Argument(help=_DOCUMENTS)] = None, **flags: Any
) -> None:
    """Turn a scheduler's configuration into SchedulerProfiles. Warnings go to stderr."""
    provider = flags["algorithm_provider"]
    if not files and provider is None:
        fail("convert: name files, - for stdin, or an --algorithm-provider")
    from moorage.apps.convert import convert as conversion

    sources = [(name, read(Path(name), "convert")) for name in files or ()]
    report = conversion.convert(sources, conversion.ConversionOptions(**flags))
    print(report.output, end="")
    for line in report.lines:
        print(f"moorage: {printable(line)}", file=sys.stderr)
    raise SystemExit(report.status)


@app.command()
def crds() -> None:
    """Print the CustomResourceDefinitions: YAML for kubectl."""
    from moorage.apps import resources

    print(resources.crds(), end="")


@app.command()
@with_parameters(
    option("--nodes", int | None, None, "How many nodes; else 6.", min=1, max=100_000),
    option("--zones", int | None, None, "In how many zones they are; else 3.", min=1, max=1000),
    option(
        "--shape",
        Path | None,
        None,
        "A YAML file of nodes instead, as `kubectl get nodes -o yaml` writes it.",
        callback=on_disk,
    ),
    option("--port", int, 0, "The API server's port; 0 takes a free one.", min=0, max=65535),
    option(
        "--config",
        Path | None,
        None,
        "An OperatorConfiguration for the replicas; how they elect, listen, log and record is the "
        "demo's own.",
    ),
    option(
        "--tour",
        bool,
        False,
        "Play what the operator can do: a hot swap, a broken profile, a leader's death.",
    ),
    option(
        "--pace",
        float,
        8.0,
        "Seconds to read between the tour's steps; Enter goes on at once.",
        min=0,
    ),
    option(
        "--exit-after-tour",
        bool,
        False,
        "Play the tour without time to read, and end: with 0 when every effect was seen.",
    ),
)
def demo(**flags: Any) -> None:
    """Run a local cluster with the operator and sample pods. Ctrl-C ends it and leaves nothing."""
    from moorage.apps.demo import demo as local
    from moorage.apps.demo.control_plane import ClusterOptions
    from towtank import node_shapes

    if flags["shape"] is not None and (flags["nodes"] or flags["zones"]):
        fail("demo: --shape says which nodes there are: leave out --nodes and --zones")
    wanted = ClusterOptions(flags["nodes"] or 6, flags["zones"] or 3, flags["shape"], flags["port"])
    try:
        if wanted.shape is not None:
            node_shapes.read_shape(read(wanted.shape, "--shape"), str(wanted.shape))
    except node_shapes.ShapeError as error:
        fail(str(error))
    last = flags["exit_after_tour"]
    pace = 0.0 if last else flags["pace"]
    tour = flags["tour"] or last
    options = local.DemoOptions(wanted.command(), flags["config"], tour, last, pace)
    end(lambda: local.run(options))


for reading in (
    status_command.status,
    queue_command.queue,
    explaining.explain,
    fitting.fit,
    simulating.simulate,
    tune_command.tune,
    recording_commands.snapshot,
    recording_commands.record,
    recording_commands.replay,
    revisions.history,
    revisions.diff,
    trial_command.trial,
    ui_command.ui,
    bundle_command.bundle,
    completion_command.completion,
):
    app.command()(reading)
app.command()(revisions.rollback)
app.command()(authority_command.admission_ca)
app.command()(install_command.install)
app.command()(uninstall_command.uninstall)


@app.command()
def version() -> None:
    """Print the version."""
    _print_version(True)


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        fail(f"--write-config-to {path}: {error.strerror}")
