"""Where the control plane's binaries come from."""

from pathlib import Path

import pytest

from tests.tools import assets


def test_kubebuilder_assets_is_used_when_complete(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A complete folder named by KUBEBUILDER_ASSETS is taken as it is; one that lacks a binary is
    named as broken.
    """
    for binary in assets.BINARIES:
        (tmp_path / binary.name).touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert assets.ensure() == tmp_path
    (tmp_path / "etcd").chmod(0o644)
    with pytest.raises(assets.AssetsError, match=f"KUBEBUILDER_ASSETS={tmp_path} has no etcd: "):
        assets.ensure()


def test_without_go_the_message_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without Go and without binaries, the error names the way out and nothing half-made is
    left.
    """
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(assets.AssetsError, match=r"install Go .* KUBEBUILDER_ASSETS"):
        assets.ensure()
    assert assets.folder().is_relative_to(tmp_path / "moorage" / "assets")
    assert [path.name for path in assets.folder().iterdir()] == [".lock"]


def test_a_failed_build_is_reported_and_leaves_no_binary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What `go build` printed is in the error, and the binary's name stays free."""
    go = tmp_path / "go"
    go.write_text(
        '#!/bin/sh\ntest "$1" = list && echo v1.37.2 && exit\necho "it broke" >&2\nexit 3\n'
    )
    go.chmod(0o755)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(assets.AssetsError, match="kube-apiserver: go build ended with 3\nit broke"):
        assets.ensure()
    assert assets.missing(assets.folder()) == list(assets.BINARIES)


def test_an_older_kubernetes_is_built_beside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its servers come from a module of their own, into a folder of their own; the rest is the same
    files.
    """
    go = tmp_path / "go"
    go.write_text(
        """#!/bin/sh
test "$1" = list && echo v1.0.0 && exit
for word; do test "$last" = -o && target=$word; last=$word; done
echo "$(basename "$PWD")" > "$target"
chmod +x "$target"
"""
    )
    go.chmod(0o755)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    old, new = assets.ensure("1.36"), assets.ensure()
    assert old != new
    differ = {
        binary.name
        for binary in assets.BINARIES
        if (old / binary.name).read_text() != (new / binary.name).read_text()
    }
    assert differ == {"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
    assert (old / "kube-apiserver").read_text() == "kubernetes-1.36\n"
