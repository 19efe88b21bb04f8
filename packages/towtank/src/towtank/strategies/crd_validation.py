"""What a CustomResourceDefinition must look like.

Where all versions say the same of something, the API server reports it at ``spec`` and not at each
version; its schema it then calls ``validation``. Source: Kubernetes
apiextensions-apiserver/pkg/apis/apiextensions/validation (v1.36).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubefacts import names
from towtank.model import conditions
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body
from towtank.model.schema_nodes import SchemaNode
from towtank.schemas import pruning, schema_parser, structural, validation_rules

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


def causes(body: Body) -> list[StatusCause]:
    """What is wrong with a definition."""
    spec = body["spec"]
    found = [*_named(body), *_versions(spec), *_spec(spec), *_names(spec["names"])]
    for version, at in _placed(spec, "additionalPrinterColumns"):
        found += _columns(version.get("additionalPrinterColumns") or (), at)
    for version, at in _placed(spec, "subresources"):
        found += _scale((version.get("subresources") or {}).get("scale"), f"{at}.scale")
    found += _schemas(spec)
    return found + _stored(body)


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
    group, scope = spec.get("group"), spec.get("scope")
    if not group:
        yield StatusCause.required("spec.group")
    else:
        yield from (
            StatusCause.invalid("spec.group", group, text) for text in names.dns_subdomain(group)
        )
        if "." not in group and not names.dns_subdomain(group):
            yield StatusCause.invalid(
                "spec.group", group, "should be a domain with at least one dot"
            )
    if not scope:
        yield StatusCause.required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield StatusCause.unsupported("spec.scope", scope, ("Cluster", "Namespaced"))
    if spec.get("preserveUnknownFields"):
        why = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield StatusCause.invalid("spec.preserveUnknownFields", True, why)
    yield from _conversion(spec.get("conversion") or {})


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
        for i, name in enumerate(said.get(key) or ()):
            yield from _label(name, f"spec.names.{key}[{i}]")
    if said.get("kind") and said.get("kind") == said.get("listKind"):
        yield StatusCause.invalid(
            "spec.names.listKind", said["listKind"], "kind and listKind may not be the same"
        )


# ---- versions ------------------------------------------------------------------------------------


def _versions(spec: Body) -> Iterator[StatusCause]:
    versions = spec["versions"]
    for i, version in enumerate(versions):
        yield from _label(version["name"], f"spec.versions[{i}].name")
        if version.get("deprecationWarning") and not version.get("deprecated"):
            why = "can only be set for deprecated versions"
            yield StatusCause.invalid(
                f"spec.versions[{i}].deprecationWarning", version["deprecationWarning"], why
            )
    if versions:
        yield from _label(versions[0]["name"], "spec.version")
    shown = json.dumps(
        [_shown(version) for version in versions], separators=(",", ":"), ensure_ascii=False
    )
    if len({version["name"] for version in versions}) != len(versions):
        yield StatusCause(
            "FieldValueInvalid",
            "spec.versions",
            f"Invalid value: {shown}: must contain unique version names",
        )
    if sum(bool(version["storage"]) for version in versions) != 1:
        text = f"Invalid value: {shown}: must have exactly one version marked as storage version"
        yield StatusCause("FieldValueInvalid", "spec.versions", text)


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
        yield from ((version, f"spec.versions[{i}].{part}") for i, version in enumerate(versions))


def _columns(columns: Sequence[Body], path: str) -> Iterator[StatusCause]:
    types, formats = (
        f"must be one of {','.join(known)}" for known in (_COLUMN_TYPES, _COLUMN_FORMATS)
    )
    for i, column in enumerate(columns):
        at = f"{path}[{i}]"
        if not column.get("name"):
            yield StatusCause.required(f"{at}.name")
        if not column.get("type"):
            yield StatusCause.required(f"{at}.type", types)
        elif column["type"] not in _COLUMN_TYPES:
            yield StatusCause.invalid(f"{at}.type", column["type"], types)
        if column.get("format") and column["format"] not in _COLUMN_FORMATS:
            yield StatusCause.invalid(f"{at}.format", column["format"], formats)
        json_path = column.get("jsonPath")
        if not json_path:
            yield StatusCause.required(f"{at}.JSONPath")
        elif not json_path.startswith("."):
            yield StatusCause.invalid(f"{at}.JSONPath", json_path, _PATH_TEXT)


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
    for i, version in enumerate(spec["versions"]):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield StatusCause.required(f"spec.versions[{i}].schema.openAPIV3Schema")
    for version, at in _placed(spec, "schema"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        path = f"{at.replace('spec.schema', 'spec.validation')}.openAPIV3Schema"
        if found := structural.causes(schema, path):
            yield from found
            continue
        node = schema_parser.parse(schema)
        yield from [*_defaults(node, path)] or validation_rules.compile_errors(node, path)
    for version, at in _placed(spec, "selectableFields"):
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        yield from _selectable(version.get("selectableFields") or (), schema, at)


def _defaults(node: SchemaNode, path: str) -> Iterator[StatusCause]:
    """Defaults that their own schema refuses."""
    if node.has_default and node.default is not None:
        holder: Any = {"default": json.loads(json.dumps(node.default))}
        at = f"{path}.default"
        if pruning.prune(holder, SchemaNode(type="object", properties={"default": node})):
            shown = json.dumps(node.default, separators=(",", ":"), ensure_ascii=False)
            yield StatusCause(
                "FieldValueInvalid", at, f"Invalid value: {shown}: must not have unknown fields"
            )
        for cause in pruning.validate(node.default, node, "") or validation_rules.refusals(
            node.default, node
        ):
            yield StatusCause(
                cause.reason,
                f"{at}.{cause.field}" if cause.field not in ("", validation_rules.ROOT) else at,
                cause.text,
            )
    for name, child in node.properties.items():
        if child.name == "ObjectMeta":
            continue  # metadata's defaults are not the definition's
        yield from _defaults(child, f"{path}.properties[{name}]")
    for key, inner in (("items", node.items), ("additionalProperties", node.additional)):
        if inner:
            yield from _defaults(inner, f"{path}.{key}")


def _selectable(fields: Sequence[Body], schema: Body, path: str) -> Iterator[StatusCause]:
    seen = set()
    if len(fields) > _SELECTABLE_LIMIT:
        yield StatusCause(
            "FieldValueTooMany",
            path,
            f"Too many: {len(fields)}: must have at most {_SELECTABLE_LIMIT} items",
        )
    for i, one in enumerate(fields):
        said, at = one.get("jsonPath") or "", f"{path}[{i}].jsonPath"
        if not said:
            yield StatusCause.required(at)
        elif not said.startswith((".", "[")):
            word = re.split(r"[.\[]", said)[0]
            yield StatusCause.invalid(
                at, said, f"is an invalid path: expected [ or . but got: {word}"
            )
        elif (leaf := _leaf(said, schema)) is None:
            yield StatusCause.invalid(
                at, said, "is an invalid path: does not refer to a valid field"
            )
        elif leaf.get("type") not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields "
                "and strings with formats are allowed."
            )
            yield StatusCause.invalid(at, said, why)
        elif said in seen:
            yield StatusCause.duplicate(at, said)
        seen.add(said)


def _leaf(json_path: str, schema: Body) -> Body | None:
    steps = _STEP.findall(json_path)
    if (
        "".join(f".{dotted}" if dotted else f"['{quoted}']" for dotted, quoted in steps)
        != json_path
        or steps[0][0] == "metadata"
    ):
        return None
    at: Body | None = schema
    for dotted, quoted in steps:
        at = ((at or {}).get("properties") or {}).get(dotted or quoted)
    return at


# ---- stored versions and changes -----------------------------------------------------------------


def _stored(body: Body) -> list[StatusCause]:
    stored, versions = (
        (body.get("status") or {}).get("storedVersions") or [],
        body["spec"]["versions"],
    )
    shown, field = json.dumps(stored or None, separators=(",", ":")), "status.storedVersions"
    if not stored:
        return [
            StatusCause(
                "FieldValueInvalid",
                field,
                f"Invalid value: {shown}: must have at least one stored version",
            )
        ]
    known = {version["name"] for version in versions}
    found = [
        StatusCause.invalid(
            f"{field}[{i}]",
            name,
            f"missing from spec.versions; {name} was previously a storage version, and must "
            f"remain in spec.versions until a storage "
            f"migration ensures no data remains persisted in {name} and removes {name} from "
            f"status.storedVersions",
        )
        for i, name in enumerate(stored)
        if name not in known
    ]
    storage = next((version["name"] for version in reversed(versions) if version["storage"]), None)
    if storage and storage not in stored:
        found.append(
            StatusCause(
                "FieldValueInvalid",
                field,
                f"Invalid value: {shown}: must have the storage version {storage}",
            )
        )
    return found


def update_causes(new: Body, old: Body) -> Iterator[StatusCause]:
    """What may not change once the names are served."""
    fixed: list[tuple[str, ...]] = [("group",), ("names", "plural")]
    if conditions.holds(old, "Established"):
        fixed += [("scope",), ("names", "kind")]
    for path in fixed:
        now, before = new["spec"], old["spec"]
        for key in path:
            now, before = now.get(key), before.get(key)
        if now != before:
            yield StatusCause.invalid(".".join(("spec", *path)), now, "field is immutable")
