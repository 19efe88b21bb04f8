"""What a CustomResourceDefinition must look like.

Where all versions say the same of something, the API server reports it at ``spec`` and not at each
version; its schema it then calls ``validation``. Source: Kubernetes
apiextensions-apiserver/pkg/apis/apiextensions/validation (v1.36).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubefacts import names
from towtank.model import conditions
from towtank.model.api_errors import StatusCause
from towtank.model.json_values import cloned
from towtank.model.kinds import Body
from towtank.model.schema_nodes import SchemaNode
from towtank.schemas import pruning, schema_parser, structural, validation_rules
from towtank.strategies.common import at, indexed, named, one_of, unchanged

_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_LIMIT: Final = 63
_LABEL_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an "
    "alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
)
_SIMPLE_PATH: Final = re.compile(r"(\.[A-Za-z0-9_-]+|\[['\"][^'\"]+['\"]\]|\[\d+\])+")
_PATH_TEXT: Final = "must be a simple json path starting with ."
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['([^']*)'\]")
_SELECTABLE_LIMIT: Final = 8
_NOT_SERVED: Final = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in "
    "spec.versions until a storage migration ensures no data remains persisted in {0} and "
    "removes {0} from status.storedVersions"
)


def causes(body: Body) -> list[StatusCause]:
    """What is wrong with a definition."""
    spec = body["spec"]
    found = [*_named(body), *_versions(spec), *_spec(spec), *_names(spec["names"])]
    for version, where in _placed(spec, "additionalPrinterColumns"):
        found += _columns(version.get("additionalPrinterColumns"), where)
    for version, where in _placed(spec, "subresources"):
        found += _scale(at(version, "subresources.scale"), f"{where}.scale")
    return [*found, *_schemas(spec), *_stored(body)]


def _label(value: str, field: str, *, mixed: bool = False) -> Iterator[StatusCause]:
    """Of a DNS label; ``mixed``: in upper and lower case."""
    before = "may have mixed case, but should otherwise match: " if mixed else ""
    if len(value) > _LABEL_LIMIT:
        yield StatusCause.invalid(
            field, value, f"{before}must be no more than {_LABEL_LIMIT} characters"
        )
    elif not _LABEL.fullmatch(value.lower() if mixed else value):
        yield StatusCause.invalid(field, value, before + _LABEL_TEXT)


def _named(body: Body) -> Iterator[StatusCause]:
    name, spec = body["metadata"].get("name"), body["spec"]
    group = spec.get("group") or ""
    # then its name is as right as these two, which do not change
    made = "resourceVersion" in body["metadata"]
    if not made and name != f"{spec['names'].get('plural') or ''}.{group}":
        yield StatusCause.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    approval = "api-approved.kubernetes.io"
    if re.search(r"(^|\.)(k8s|kubernetes)\.io$", group) and approval not in (
        body["metadata"].get("annotations") or {}
    ):
        why = (
            f'protected groups must have approval annotation "{approval}", see '
            f"https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield StatusCause.required(f"metadata.annotations[{approval}]", why)


def _spec(spec: Body) -> Iterator[StatusCause]:
    yield from named(spec.get("group") or "", "spec.group", _group_faults)
    scope = spec.get("scope")
    if not scope:
        yield StatusCause.required("spec.scope")
    yield from one_of(scope or None, ("Cluster", "Namespaced"), "spec.scope")
    if spec.get("preserveUnknownFields"):
        why = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield StatusCause.invalid("spec.preserveUnknownFields", True, why)
    yield from _conversion(spec.get("conversion") or {})


def _group_faults(group: str) -> Sequence[str]:
    dotless = () if "." in group else ("should be a domain with at least one dot",)
    return names.dns_subdomain(group) or dotless


def _conversion(conversion: Body) -> Iterator[StatusCause]:
    strategy, webhook = conversion.get("strategy"), conversion.get("webhook") or {}
    reviews = "spec.conversion.conversionReviewVersions"
    if strategy == "Webhook":
        if not webhook.get("clientConfig"):
            yield StatusCause.required(
                "spec.conversion.webhookClientConfig", "required when strategy is set to Webhook"
            )
        if not webhook.get("conversionReviewVersions"):
            yield StatusCause.required(reviews)
        return
    if strategy != "None":
        yield StatusCause.unsupported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    if webhook.get("conversionReviewVersions"):
        yield StatusCause.forbidden(
            reviews, "should not be set when strategy is not set to Webhook"
        )


def _names(said: Body) -> Iterator[StatusCause]:
    for key in ("plural", "singular", "kind", "listKind"):
        if not said.get(key):
            yield StatusCause.required(f"spec.names.{key}")
        else:
            yield from _label(said[key], f"spec.names.{key}", mixed=key in ("kind", "listKind"))
    for key in ("shortNames", "categories"):
        for name, where in indexed(said.get(key), f"spec.names.{key}"):
            yield from _label(name, where)
    if said.get("kind") and said["kind"] == said.get("listKind"):
        yield StatusCause.invalid(
            "spec.names.listKind", said["listKind"], "kind and listKind may not be the same"
        )


# ---- versions ------------------------------------------------------------------------------------


def _versions(spec: Body) -> Iterator[StatusCause]:
    versions = spec["versions"]
    for version, where in indexed(versions, "spec.versions"):
        yield from _label(version["name"], f"{where}.name")
        if version.get("deprecationWarning") and not version.get("deprecated"):
            why = "can only be set for deprecated versions"
            yield StatusCause.invalid(
                f"{where}.deprecationWarning", version["deprecationWarning"], why
            )
    if versions:
        yield from _label(versions[0]["name"], "spec.version")
    shown = [_shown(version) for version in versions]
    if len({version["name"] for version in versions}) != len(versions):
        yield StatusCause.invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(version["storage"]) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        yield StatusCause.invalid("spec.versions", shown, why)


def _shown(version: Body) -> Body:
    """As Go prints a version, without its schema."""
    shown = {key.title(): version[key] for key in ("name", "served", "storage")}
    return {
        **shown,
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        **dict.fromkeys(("Schema", "Subresources", "AdditionalPrinterColumns", "SelectableFields")),
    }


def _placed(spec: Body, part: str) -> Iterator[tuple[Body, str]]:
    """The versions whose part is to be looked at, each with the part's place in causes."""
    versions = spec["versions"]
    if versions and all(version.get(part) == versions[0].get(part) for version in versions):
        yield versions[0], f"spec.{part}"
    else:
        yield from ((one, f"{where}.{part}") for one, where in indexed(versions, "spec.versions"))


def _columns(columns: Sequence[Body] | None, path: str) -> Iterator[StatusCause]:
    types, formats = (
        f"must be one of {','.join(known)}" for known in (_COLUMN_TYPES, _COLUMN_FORMATS)
    )
    for column, where in indexed(columns, path):
        kind, form, json_path = (column.get(key) for key in ("type", "format", "jsonPath"))
        if not column.get("name"):
            yield StatusCause.required(f"{where}.name")
        if not kind:
            yield StatusCause.required(f"{where}.type", types)
        elif kind not in _COLUMN_TYPES:
            yield StatusCause.invalid(f"{where}.type", kind, types)
        if form and form not in _COLUMN_FORMATS:
            yield StatusCause.invalid(f"{where}.format", form, formats)
        if not json_path:
            yield StatusCause.required(f"{where}.JSONPath")
        elif not json_path.startswith("."):
            yield StatusCause.invalid(f"{where}.JSONPath", json_path, _PATH_TEXT)


def _scale(scale: Body | None, path: str) -> Iterator[StatusCause]:
    if scale is None:
        return
    both = ".spec", ".status"
    for key, under, where in (
        ("specReplicasPath", both[:1], "a json path under .spec"),
        ("statusReplicasPath", both[1:], "a json path under .status"),
        ("labelSelectorPath", both, "a json path under either .spec or .status"),
    ):
        said = scale.get(key)
        if not said:
            if key != "labelSelectorPath":
                yield StatusCause.required(f"{path}.{key}")
        elif not _SIMPLE_PATH.fullmatch(said):
            yield StatusCause.invalid(f"{path}.{key}", said, _PATH_TEXT)
        elif not said.startswith(tuple(f"{start}." for start in under)):
            yield StatusCause.invalid(f"{path}.{key}", said, f"should be {where}")


# ---- schemas -------------------------------------------------------------------------------------


def _schemas(spec: Body) -> Iterator[StatusCause]:
    for version, where in indexed(spec["versions"], "spec.versions"):
        if _schema(version) is None:
            yield StatusCause.required(f"{where}.schema.openAPIV3Schema")
    for version, where in _placed(spec, "schema"):
        if (schema := _schema(version)) is not None:
            path = f"{where.replace('spec.schema', 'spec.validation')}.openAPIV3Schema"
            yield from structural.causes(schema, path) or _compiled_causes(schema, path)
    for version, where in _placed(spec, "selectableFields"):
        yield from _selectable(version.get("selectableFields"), _schema(version) or {}, where)


def _schema(version: Body) -> Body | None:
    schema: Body | None = at(version, "schema.openAPIV3Schema")
    return schema


def _compiled_causes(schema: Body, path: str) -> list[StatusCause]:
    node = schema_parser.parse(schema)
    return [*_defaults(node, path)] or validation_rules.compile_errors(node, path)


def _defaults(node: SchemaNode, path: str) -> Iterator[StatusCause]:
    """Defaults that their own schema refuses."""
    if node.has_default and node.default is not None:
        yield from _refused_default(node, f"{path}.default")
    for where, child in node.children():
        if child.name != "ObjectMeta":  # metadata's defaults are not the definition's
            yield from _defaults(child, f"{path}.{where}")


def _refused_default(node: SchemaNode, path: str) -> Iterator[StatusCause]:
    holder: Any = {"default": cloned(node.default)}
    if pruning.prune(holder, SchemaNode(type="object", properties={"default": node})):
        yield StatusCause.invalid(path, node.default, "must not have unknown fields")
    for cause in pruning.validate(node.default, node, "") or validation_rules.refusals(
        node.default, node
    ):
        whole = cause.field in ("", validation_rules.ROOT)
        yield dataclasses.replace(cause, field=path if whole else f"{path}.{cause.field}")


def _selectable(fields: Sequence[Body] | None, schema: Body, path: str) -> Iterator[StatusCause]:
    if fields and len(fields) > _SELECTABLE_LIMIT:
        yield StatusCause.too_many(path, len(fields), _SELECTABLE_LIMIT)
    seen = set()
    for one, where in indexed(fields, path):
        said = one.get("jsonPath") or ""
        if not said:
            yield StatusCause.required(f"{where}.jsonPath")
        elif why := _unselectable(said, schema):
            yield StatusCause.invalid(f"{where}.jsonPath", said, why)
        elif said in seen:
            yield StatusCause.duplicate(f"{where}.jsonPath", said)
        seen.add(said)


def _unselectable(json_path: str, schema: Body) -> str:
    """Why nobody can select by what is at this path, or ""."""
    if not json_path.startswith((".", "[")):
        word = re.split(r"[.\[]", json_path)[0]
        return f"is an invalid path: expected [ or . but got: {word}"
    leaf = _leaf(json_path, schema)
    if leaf is None:
        return "is an invalid path: does not refer to a valid field"
    if leaf.get("type") in ("string", "boolean", "integer"):
        return ""
    return (
        "must point to a field of type string, boolean or integer. Enum string fields and "
        "strings with formats are allowed."
    )


def _leaf(json_path: str, schema: Body) -> Body | None:
    steps = _STEP.findall(json_path)
    if (
        "".join(f".{dotted}" if dotted else f"['{quoted}']" for dotted, quoted in steps)
        != json_path
        or steps[0][0] == "metadata"
    ):
        return None
    found: Body | None = schema
    for dotted, quoted in steps:
        found = ((found or {}).get("properties") or {}).get(dotted or quoted)
    return found


# ---- stored versions and changes -----------------------------------------------------------------


def _stored(body: Body) -> Iterator[StatusCause]:
    field, versions = "status.storedVersions", body["spec"]["versions"]
    stored = at(body, field)
    if not stored:
        yield StatusCause.invalid(field, None, "must have at least one stored version")
        return
    for name, where in indexed(stored, field):
        if all(version["name"] != name for version in versions):
            yield StatusCause.invalid(where, name, _NOT_SERVED.format(name))
    storage = next((version["name"] for version in reversed(versions) if version["storage"]), None)
    if storage and storage not in stored:
        yield StatusCause.invalid(field, stored, f"must have the storage version {storage}")


def update_causes(new: Body, old: Body) -> Iterator[StatusCause]:
    """What may not change once the names are served."""
    yield from unchanged(new, old, "spec.group", "spec.names.plural")
    if conditions.holds(old, "Established"):
        yield from unchanged(new, old, "spec.scope", "spec.names.kind")
