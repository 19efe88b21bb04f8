"""What the commands of the command line have in common: options, files that are read, ends.

Nothing heavy is imported, so that `moorage --help` answers at once.
"""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from moorage.apps.commands.input_files import read_text
from moorage.apps.reach.operator_choice import OperatorChoice
from moorage.ports.texts import printable

WRONG_USE: Final = 2
COMPLETE: Final = "__complete"
"""The word before those that a shell wants completed."""


def option(name: str, kind: Any, default: Any, text: str, **limits: Any) -> inspect.Parameter:
    """A parameter of a command as Typer reads it from a signature; ``name`` may be followed by a
    short one.
    """
    # With a name of its own, a truth value has no --no-... beside it.
    names = name.split()
    option = typer.Option(*names, help=text, **limits)
    return inspect.Parameter(
        variable(names[0]),
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option],
    )


def with_parameters(
    *parameters: inspect.Parameter,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command parameters beside its own: tables of them read better than long signatures."""

    def give(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        named = [one for one in own if one.kind is not inspect.Parameter.VAR_KEYWORD]
        everything = [*named, *parameters]
        command.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in everything}
        return command

    return give


def variable(flag: str) -> str:
    """The parameter's name in Python."""
    name = flag.strip("-").replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def operator_choice(flags: Mapping[str, Any]) -> OperatorChoice:
    """What OPERATOR_OPTIONS say."""
    insecure = flags["insecure_skip_tls_verify"]
    return OperatorChoice(flags["server"], flags["server_ca"], insecure)


def read(path: Path, what: str) -> str:
    """A file that an option or argument names; ends the command where it cannot be read."""
    try:
        return read_text(path)
    except OSError as error:
        fail(f"{what} {path}: {error.strerror}")
    except UnicodeDecodeError as error:
        fail(f"{what} {path}: {error}")


def end(command: Callable[[], int]) -> NoReturn:
    """With the command's exit status, or saying why there is no answer."""
    from moorage.apps.exit_status import CommandError

    try:
        status = command()
    except CommandError as error:
        for line in str(error).splitlines():
            print(f"moorage: {printable(line)}", file=sys.stderr)
        status = error.status
    raise SystemExit(int(status))


def fail(*errors: str) -> NoReturn:
    """Say what was wrong and end."""
    for error in errors:
        print(f"moorage: {printable(error)}", file=sys.stderr)
    raise SystemExit(WRONG_USE)


FORMATS: Final = ("json", "yaml", "name", "wide")
"""Of answers: documents, their names alone, and tables in which nothing is folded."""


def _known_format(form: str) -> str:
    if form not in ("", *FORMATS):
        from moorage.core.structures.likeness import suggest

        fail(f"--output {form}: use one of {', '.join(FORMATS)}{suggest(form, FORMATS)}")
    return form


def output_option() -> inspect.Parameter:
    """How the answer is printed: "" for people, or one of FORMATS."""
    text = "json or yaml: a document; name: names alone; wide: nothing folded."
    return option(
        "--output -o", str, "", text, callback=_known_format, autocompletion=lambda: list(FORMATS)
    )


def _contexts(ctx: typer.Context, incomplete: str) -> list[str]:
    """What completes --context."""
    from moorage.apps.worlds.cluster_choice import ClusterChoice
    from moorage.apps.worlds.kubeconfig_contexts import contexts

    found = contexts(ClusterChoice(ctx.params.get("kubeconfig") or ""))
    return [name for name in found if name.startswith(incomplete)]


def seconds_of(flag: str, text: str, example: str) -> float | None:
    """The duration that a flag was given, None where it was left out. Raises WrongUse."""
    from kubefacts import durations
    from moorage.apps.exit_status import WrongUse

    if not text:
        return None
    try:
        seconds = durations.parse(text)
    except ValueError as error:
        raise WrongUse(f"{flag} {text}: {error}") from error
    if seconds <= 0:
        raise WrongUse(f"{flag} {text}: must be more than 0, as in {example}")
    return seconds


CLUSTER_OPTIONS = (
    option("--kubeconfig", str, "", "Kubeconfig file; else KUBECONFIG, ~/.kube/config."),
    option(
        "--context",
        str,
        "",
        "Context of the kubeconfig; else its current one.",
        autocompletion=_contexts,
    ),
)
"""Of commands that look at a cluster."""
OPERATOR_OPTIONS = (
    option(
        "--server",
        str,
        "",
        "Ask the operator at this address, as https://127.0.0.1:10259; none: ask no operator. "
        "Else the one that leads is found.",
    ),
    option("--server-ca", str, "", "File with the authority of the certificate at --server."),
    option("--insecure-skip-tls-verify", bool, False, "Believe whatever answers at --server."),
)
"""Of commands that ask an operator."""
CONFIG_OPTION = option(
    "--config",
    Path | None,
    None,
    "The operator's OperatorConfiguration, for its plugins and defaults.",
)
"""Of commands that resolve profiles (``plugin_resolver``)."""
