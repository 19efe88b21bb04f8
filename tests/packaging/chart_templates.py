"""A template of the Helm chart, cut from an object: names and namespaces are the release's, and
values stand at the places of chart_values.py.
"""

from __future__ import annotations

import copy
import re
from typing import Any, Final

from moorage.apps.install.renaming import Names, renamed
from tests.packaging.chart_values import PLACES, Made, Value, put
from tests.packaging.kustomizing import Body, dump_one, identity

RELEASE: Final = Names("{{ .Release.Name }}", "{{ .Release.Namespace }}")
_BRACES: Final = re.compile(r"\{\{|\}\}")
_MARK: Final = re.compile(r"^( *)(?:- |([^\s:]+): )x-(\d+)-x$", re.MULTILINE)


def template(body: Body) -> str:
    """The template of an object, as one document."""
    marked = copy.deepcopy(body)
    for number, place in enumerate(PLACES):
        if place.of == identity(body):
            put(marked, place.place, f"x-{number}-x")
    return "---\n" + _MARK.sub(_filled, dump_one(released(_escaped(marked))))


def _escaped(node: Any) -> Any:
    """The same with braces that a template keeps: dashboards and rules have their own."""
    if isinstance(node, dict):
        return {key: _escaped(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_escaped(value) for value in node]
    if isinstance(node, str):
        return _BRACES.sub(lambda found: f"{{{{ `{found[0]}` }}}}", node)
    return node


def released(node: Any) -> Any:
    """The same with the release's name and namespace instead of ours."""
    return renamed(node, RELEASE)


def _filled(mark: re.Match[str]) -> str:
    """The line of a mark, or the lines that stand for it."""
    indent, key = mark[1], mark[2] or "+"
    place = PLACES[int(mark[3])]
    if isinstance(place, Made):
        lines = place.text.splitlines()
        if len(lines) == 1:
            return f"{indent}{key}: {place.text}"
    elif place.schema["type"] in ("string", "integer"):
        quoted = " | quote" if place.schema["type"] == "string" else ""
        return f"{indent}{key}: {{{{ .Values.{place.name}{quoted} }}}}"
    else:
        lines = _block(place, key, len(indent))
    return "\n".join(indent + line for line in lines)


def _block(value: Value, key: str, column: int) -> list[str]:
    """The lines of an object, a list or a switch: none when it is empty. The key `+` means that it
    comes beside others. ``column`` is where the lines begin.
    """
    written = "tpl (toYaml .) $" if value.rendered else "toYaml ."
    if value.schema["type"] == "boolean":
        inside = [f"{key}: {{{{ . }}}}"]
    elif key == "+":
        inside = [f"{{{{- {written} | nindent {column} }}}}"]
    else:
        inside = [f"{key}:", f"  {{{{- {written} | nindent {column + 2} }}}}"]
    return [f"{{{{- with .Values.{value.name} }}}}", *inside, "{{- end }}"]
