"""Resources: files that go with the program, from the wheel where there is one, else from the
checkout.

An editable install has no copy of its own, so it reads the checkout's files.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_INSTALL = _PACKAGE / "data" / "install"
"""Generated from manifests/ (tests/generate.py)."""


class ResourceMissing(Exception):
    """A file that should have come with the program is not there."""


def crds() -> str:
    """The CustomResourceDefinitions, as one YAML text for `kubectl apply -f -`."""
    return _documents("crds")


def samples() -> str:
    """The sample profiles, a PluginConfig and pods for them, likewise."""
    return _documents("manifests/samples")


def variants() -> tuple[str, ...]:
    """The names of the ways to run the operator."""
    return _names("variants")


def components() -> tuple[str, ...]:
    """The names of the options that go with any variant."""
    return _names("components")


def variant(name: str) -> str:
    """All objects of a variant: the CRDs and the rest."""
    return crds() + "---\n" + _installed(f"variants/{name}")


def component(name: str) -> str:
    """The objects that a component adds to a variant's."""
    return _installed(f"components/{name}")


def next_profile(name: str) -> str:
    """The profile to apply once the variant runs; "" for a variant without."""
    return _installed(f"profiles/{name}") if name in _names("profiles") else ""


def _installed(name: str) -> str:
    """A file of data/install."""
    file = _INSTALL / f"{name}.yaml"
    if not file.is_file():
        raise ResourceMissing(f"{file} is missing")
    return file.read_text(encoding="utf-8")


def _names(folder: str) -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in (_INSTALL / folder).glob("*.yaml")))


def _documents(folder: str) -> str:
    """All files of a folder, as one YAML text."""
    files = sorted(_folder(folder).glob("*.yaml"))
    return "---\n".join(
        file.read_text(encoding="utf-8") for file in files if file.name != "kustomization.yaml"
    )


def _folder(name: str) -> Path:
    """A folder of data files; the wheel has them by the last part of their name."""
    root = _checkout()
    folder = root / name if root is not None else _PACKAGE / "data" / Path(name).name
    if not folder.is_dir():
        raise ResourceMissing(
            f"{folder} is missing: this installation of moorage is incomplete, install it again"
        )
    return folder


def _checkout() -> Path | None:
    """The root of the checkout that this program runs from; None when it was installed from a
    wheel.
    """
    root = _PACKAGE.parents[1]
    return (
        root
        if (root / "pyproject.toml").is_file() and (root / "operator" / "moorage") == _PACKAGE
        else None
    )
