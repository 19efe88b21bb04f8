"""Build the control plane's binaries and promtool for tests and demos, once, into a cache folder
outside the checkout.

    python tests/tools/assets.py [1.35|helm]    # progress goes to stderr, the folder is the last
                                                # line of stdout

Go's module proxy and checksum database are the only source: each folder beside this file is a Go
module that pins what it builds (own modules, because the projects need different versions of
the same libraries). With a version, the servers are those of that older Kubernetes; `helm` alone is
in a folder of its own.

KUBEBUILDER_ASSETS works as for controller-runtime's envtest: a folder that already holds the
control plane's binaries. When it is set, none of these is built. Only the standard library is used,
so this runs before any virtual environment exists.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent

# client-go and component-base both carry the version; a binary that has none calls itself
# v0.0.0-master, and then feature gates, emulated versions and `kubectl version` are wrong.
KUBERNETES_STAMP: Final = tuple(
    f"-X={package}.{setting}"
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    # The proxy doesn't say which commit a tag names; go.sum pins the tag's content, so the tag is
    # as exact.
    for setting in (
        "gitVersion={version}",
        "gitMajor={major}",
        "gitMinor={minor}",
        "gitCommit={version}",
        "gitTreeState=clean",
    )
)


class Binary(NamedTuple):
    """One binary to build: its name, the folder of its Go module, its main package, linker flags
    and build tags.
    """

    name: str
    module: str
    package: str
    stamp: tuple[str, ...] = ()
    tags: str = ""


# What tests need most comes first.
BINARIES: Final = (
    Binary(
        "kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", KUBERNETES_STAMP
    ),
    Binary("etcd", "etcd", "go.etcd.io/etcd/server/v3"),
    Binary("kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", KUBERNETES_STAMP),
    Binary("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    Binary(
        "kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", KUBERNETES_STAMP
    ),
    Binary(
        "kube-controller-manager",
        "kubernetes",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        KUBERNETES_STAMP,
    ),
    # The clients of every cloud's discovery of targets are left out: rules need none.
    Binary(
        "promtool",
        "prometheus",
        "github.com/prometheus/prometheus/cmd/promtool",
        tags="remove_all_sd",
    ),
)

OLDER: Final = ("1.34", "1.35", "1.36")
"""Older Kubernetes that is tried too: its servers are built of module kubernetes-VERSION."""
_SERVERS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")

HELM: Final = Binary("helm", "helm", "helm.sh/helm/v4/cmd/helm")


class AssetsError(Exception):
    """The binaries cannot be had; the message says what to do."""


def binaries(older: str = "") -> tuple[Binary, ...]:
    """What to build; ``older`` is one of OLDER, or "helm"."""
    if older == HELM.name:
        return (HELM,)
    names = _SERVERS if older else ()
    return tuple(
        binary._replace(module=f"{binary.module}-{older}") if binary.name in names else binary
        for binary in BINARIES
    )


def folder(older: str = "") -> Path:
    """The folder of the binaries: KUBEBUILDER_ASSETS, or a cache folder named after all that
    decides its content.
    """
    if given := _given(older):
        return given
    wanted = binaries(older)
    key = hashlib.sha256(repr(wanted).encode())
    for module in sorted({binary.module for binary in wanted}):
        for file in ("go.mod", "go.sum"):
            key.update((HERE / module / file).read_bytes())
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "moorage" / "assets" / key.hexdigest()[:16]


def missing(where: Path, older: str = "") -> list[Binary]:
    """The binaries that `where` does not hold."""
    return [binary for binary in binaries(older) if not os.access(where / binary.name, os.X_OK)]


def ensure(older: str = "") -> Path:
    """Build what is missing and return the folder. Raises AssetsError when that is impossible."""
    where = folder(older)
    if _given(older):
        if lacking := missing(where):
            names = ", ".join(binary.name for binary in lacking)
            raise AssetsError(
                f"KUBEBUILDER_ASSETS={where} has no {names}: add them, or unset it to have "
                f"all built"
            )
        return where
    where.mkdir(parents=True, exist_ok=True)
    with (where / ".lock").open("w") as lock:
        # A second run waits for the first instead of building the same again.
        fcntl.flock(lock, fcntl.LOCK_EX)
        for binary in missing(where, older):
            if older in OLDER and binary in BINARIES:
                os.link(ensure() / binary.name, where / binary.name)
            else:
                _build(binary, where)
    return where


def _given(older: str) -> Path | None:
    """The folder that KUBEBUILDER_ASSETS names; such folders have no helm."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    return Path(given).expanduser().resolve() if given and older != HELM.name else None


def _build(binary: Binary, where: Path) -> None:
    """Build one binary; it appears under its name only when complete, so a killed build leaves no
    half file.
    """
    go = shutil.which("go")
    if go is None:
        raise AssetsError(
            f"{binary.name} must be built and there is no go command: install Go 1.26 or newer, "
            "or let KUBEBUILDER_ASSETS name a folder that holds the binaries"
        )
    part = where / f".{binary.name}.part"
    flags = ["-s", "-w", *_stamps(go, binary)]
    command = [
        go,
        "build",
        "-v",
        "-trimpath",
        "-buildvcs=false",
        f"-tags={binary.tags}",
        f"-ldflags={' '.join(flags)}",
        "-o",
        str(part),
    ]
    started = shown = time.monotonic()
    _say(f"{binary.name}: building")
    with subprocess.Popen(
        [*command, binary.package],
        cwd=HERE / binary.module,
        env=_environment(),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None  # because of PIPE above
        output = []
        for line in process.stderr:
            output.append(line)
            if time.monotonic() > shown + 10:
                shown = time.monotonic()
                _say(f"{binary.name}: {len(output)} packages, {shown - started:.0f} s")
    if process.returncode:
        raise AssetsError(
            f"{binary.name}: go build ended with {process.returncode}\n{''.join(output[-30:])}"
        )
    part.replace(where / binary.name)
    _say(f"{binary.name}: built in {time.monotonic() - started:.0f} s")


def _stamps(go: str, binary: Binary) -> list[str]:
    """The linker flags that write the pinned version of the binary's module into it."""
    if not binary.stamp:
        return []
    query = [go, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes"]
    found = subprocess.run(
        query,
        check=False,
        cwd=HERE / binary.module,
        env=_environment(),
        capture_output=True,
        text=True,
    )
    if found.returncode:
        raise AssetsError(f"{binary.name}: go list ended with {found.returncode}\n{found.stderr}")
    version = found.stdout.strip()
    major, minor = version.removeprefix("v").split(".")[:2]
    return [flag.format(version=version, major=major, minor=minor) for flag in binary.stamp]


def _environment() -> dict[str, str]:
    """Go without C, so no compiler is needed, and without a workspace that may lie above the
    checkout.
    """
    return os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Build and print the folder; 1 with the reason on stderr when that failed."""
    try:
        where = ensure(*sys.argv[1:])
    except AssetsError as error:
        _say(f"assets: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    print(where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
