"""The resolver of a command that was told an OperatorConfiguration: with its packages' plugins, and
its values for what profiles leave out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from moorage.api.resolution import Resolver
from moorage.apps.commands.input_files import read_text
from moorage.apps.exit_status import WrongUse
from moorage.apps.worlds.deciding import in_tree_resolver

if TYPE_CHECKING:
    from moorage.api.operator_config import OperatorConfiguration


def resolver_of(config: Path | None) -> Resolver:
    """None: plugins in the tree, and the defaults. Raises WrongUse."""
    return resolver_maker(config)()


def resolver_maker(config: Path | None) -> Callable[[], Resolver]:
    """The same for each of several processes, to which it can be sent: the file, which may be
    stdin, is read once, now.
    """
    if config is None:
        return in_tree_resolver
    return functools.partial(_configured, configuration_of(config))


def _configured(config: OperatorConfiguration) -> Resolver:
    from moorage.apps.check import resolver_for
    from moorage.apps.run.plugin_packages import PackageErrors

    try:
        return resolver_for(config)
    except PackageErrors as errors:
        raise WrongUse("\n".join(map(str, errors.errors))) from errors


def configuration_of(config: Path) -> OperatorConfiguration:
    """What the file says, with the defaults. Raises WrongUse."""
    from moorage.api.operator_config import ConfigErrors, load_config

    try:
        return load_config(read_text(config), {}, {})
    except ConfigErrors as errors:
        raise WrongUse("\n".join(map(str, errors.errors))) from errors
    except (OSError, UnicodeDecodeError) as error:
        raise WrongUse(f"--config {config}: {error}") from error
