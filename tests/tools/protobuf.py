"""Write how built-in kinds look in protobuf: ``python -m tests.tools.protobuf``.

kubectl sends some of its writes so. The numbers and types of fields stand in the .proto files of
Kubernetes' modules, their JSON names and whether they are pointers in the Go sources beside; both
come with the modules that tests/tools/kubernetes pins. The result,
``packages/towtank/src/towtank/data/messages.json``, maps each message to its fields: [number, JSON
name ("" for one that is laid into its parent), type, and letters: r repeated, m a map (of strings
to the type), z to be kept when it is zero].
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tests.tools.openapi import DATA

MODULES: Final = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver")
ROOTS: Final = ("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",)
"""Messages that requests hold besides the kinds."""

_MESSAGE: Final = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD: Final = re.compile(
    r"^  (optional|repeated|required|map<string, ?([\w.]+)>) ?([\w.]*) (\w+) = (\d+);", re.MULTILINE
)
_STRUCT: Final = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_MEMBER: Final = re.compile(
    r'^\s+(?:\w+\s+)?(\S+)\s+`json:"([^"]*)"[^`]*protobuf:"[^"]*name=(\w+)', re.MULTILINE
)
_SCALARS: Final = ("string", "bool", "int32", "int64", "uint32", "uint64", "bytes", "double")

Fields = list[list[Any]]


def messages(folders: Mapping[str, Path]) -> dict[str, Fields]:
    """All messages of version v1 packages in these modules, by the names that OpenAPI has for
    them.
    """
    found: dict[str, Fields] = {}
    for folder in folders.values():
        for proto in sorted(folder.rglob("generated.proto")):
            text = re.sub(r"^\s*//.*\n", "", proto.read_text(), flags=re.MULTILINE)
            package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
            members = _members(proto.parent)
            if package is not None:
                for name, body in _MESSAGE.findall(text):
                    found[_openapi(f"{package[1]}.{name}")] = list(
                        _fields(body, package[1], members.get(name, {}))
                    )
    return found


def _members(folder: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """Struct -> name in protobuf -> (Go type, JSON tag)."""
    return {
        struct: {name: (go_type, tag) for go_type, tag, name in _MEMBER.findall(body)}
        for file in sorted(folder.glob("*.go"))
        for struct, body in _STRUCT.findall(file.read_text())
    }


def _fields(body: str, package: str, members: Mapping[str, tuple[str, str]]) -> Iterator[list[Any]]:
    for label, value, kind, name, number in _FIELD.findall(body):
        go_type, tag = members.get(name, ("*", name))
        json_name, *options = tag.split(",")
        letters = "r" if label == "repeated" else "m" if value else ""
        if go_type.startswith("*") or "omitempty" not in options:
            letters += "z"
        yield [
            int(number),
            json_name,
            _type(value or kind, package),
            letters,
        ]


def _type(name: str, package: str) -> str:
    if name in _SCALARS:
        return name
    return _openapi(name.lstrip(".") if name.startswith(".") else f"{package}.{name}")


def _openapi(name: str) -> str:
    """k8s.io.api.core.v1.Pod -> io.k8s.api.core.v1.Pod."""
    return "io.k8s." + name.removeprefix("k8s.io.")


def reachable(every: Mapping[str, Fields]) -> dict[str, Fields]:
    """The messages of the kinds that are served, and those within them."""
    kinds = json.loads((DATA / "schemas.json").read_text())["kinds"]
    taken: dict[str, Fields] = {}
    waiting = [*ROOTS, *kinds.values()]
    while waiting:
        name = waiting.pop()
        if name not in taken and name in every:
            taken[name] = every[name]
            waiting += [field[2] for field in every[name]]
    return taken


def written(folders: Mapping[str, Path]) -> str:
    """The file's text, a message a line."""
    taken = reachable(messages(folders))
    lines = ",\n".join(
        f"{json.dumps(name)}:{json.dumps(taken[name], separators=(',', ':'))}"
        for name in sorted(taken)
    )
    return f"{{\n{lines}\n}}\n"


def folders() -> dict[str, Path]:
    """Where Go keeps the modules."""
    where = Path(__file__).parent / "kubernetes"
    query = ["go", "list", "-m", "-f", "{{.Path}} {{.Dir}}", *MODULES]
    listed = subprocess.run(query, check=True, cwd=where, capture_output=True, text=True).stdout
    return {
        module: Path(folder)
        for module, folder in (line.split(" ", 1) for line in listed.splitlines())
    }


def main() -> int:
    """Write the file."""
    (DATA / "messages.json").write_text(written(folders()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
