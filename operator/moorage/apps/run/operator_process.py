"""The process around the operator: logging, limits, the event loop, and its end. What runs in it is
made by ``apps.run.bootstrap``.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import importlib.util
import logging
import os
import resource
from collections.abc import Callable

from moorage.adapters import log_output
from moorage.adapters.kube_session import KubeconfigError
from moorage.adapters.serving_certificates import CertificateError
from moorage.api.operator_config import OperatorConfiguration
from moorage.apps.run import plugin_packages, quarantine_writer, watchdog
from moorage.apps.run.bootstrap import Overrides, build
from moorage.apps.run.plugin_packages import PackageErrors
from moorage.apps.run.side_loop import SideLoop
from moorage.apps.run.watchdog import CallMarks
from moorage.core.framework.guard import PluginFault

log = logging.getLogger(__name__)

DECISIONS_VERBOSITY, DEBUG_VERBOSITY = 2, 4
END_TASKS_SECONDS = 2.0
"""For tasks that still run when all parts are closed."""
LOG_FLUSH_SECONDS = 0.5
"""For the log of a process that ends at once."""


def run(config: OperatorConfiguration) -> int:
    """Run the operator to its end; returns the exit status. Where strangers' plugins run, a
    watchdog looks after it.
    """
    if not config.plugins.packages:
        return _operate(config, CallMarks())
    record = functools.partial(quarantine_writer.record, config)
    return watchdog.run_watched(
        lambda marks: _operate(config, marks), record, config.logging.format
    )


def _operate(config: OperatorConfiguration, marks: CallMarks) -> int:
    output = log_output.install(config.logging.format, logging.INFO, log_output.standard_error())
    raise_file_limit()
    set_verbosity(config.logging.verbosity)
    for warning in config.warnings():
        log.warning("%s", warning)
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            status = runner.run(_run(config, marks, functools.partial(_end_at_once, output)))
            if stuck := runner.run(end_tasks(END_TASKS_SECONDS)):
                text = "tasks that do not end hold up this process no longer: %s"
                log.error(text, ", ".join(stuck))
                _end_at_once(output, status)  # the runner would wait for them
            return status
    except PackageErrors as errors:
        for text in errors.errors:
            log.error("%s", text)
        return 2
    except (KubeconfigError, CertificateError, PluginFault) as error:
        log.error("%s", error)
        return 2
    except OSError as error:
        log.error("cannot start: %s", error.strerror or error)
        return 1
    finally:
        output.stop()


def _end_at_once(output: log_output.LogOutput, status: int) -> None:
    output.stop(LOG_FLUSH_SECONDS)
    os._exit(status)


async def _run(
    config: OperatorConfiguration, marks: CallMarks, abort: Callable[[int], object]
) -> int:
    tree = Overrides(abort=abort)
    joined = plugin_packages.load(
        config.plugins.packages, tree.registry, tree.actors, marks, tree.telemetry.plugin_error
    )
    with SideLoop() as side:
        supervisor = await build(
            config,
            dataclasses.replace(tree, registry=joined.registry, actors=joined.actors, side=side),
        )
        return await supervisor.run()


async def end_tasks(seconds: float) -> list[str]:
    """Cancel all that still runs; the names of tasks that do not end within ``seconds``, as Kopf's
    may when its CRDs are deleted.
    """
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    return (
        sorted(task.get_name() for task in (await asyncio.wait(tasks, timeout=seconds))[1])
        if tasks
        else []
    )


def raise_file_limit() -> None:
    """Open as many files as the system lets us: connections are bounded elsewhere, by what they are
    for.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def set_verbosity(verbosity: int) -> None:
    """0: what happens, 2: every decision too, 4: everything."""
    logging.getLogger().setLevel(logging.DEBUG if verbosity >= DEBUG_VERBOSITY else logging.INFO)
    logging.getLogger("moorage.decisions").setLevel(
        logging.NOTSET if verbosity >= DECISIONS_VERBOSITY else logging.WARNING
    )


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, which costs less CPU for each request; where it is not installed, asyncio's own."""
    if importlib.util.find_spec("uvloop") is None:
        return None
    import uvloop

    return uvloop.new_event_loop
