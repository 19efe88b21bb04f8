"""What is asked: definitions, and writes of objects whose schemas have rules."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Final

import yaml

from towtank_tests.custom.schemas import SCHEMAS

Body = dict[str, Any]
GROUP: Final = "g.example.com"
RECORDED: Final = Path(__file__).parent.parent / "recorded_custom.json"
WHOLE: Final[Body] = {"type": "integer"}
TEXT: Final[Body] = {"type": "string", "maxLength": 100}


def fields(properties: Body, **more: Any) -> Body:
    """The schema of an object."""
    return {"type": "object", "properties": properties, **more}


def ruled(schema: Body, *rules: str | Body) -> Body:
    """A schema with rules."""
    return {
        **schema,
        "x-kubernetes-validations": [
            {"rule": rule} if isinstance(rule, str) else rule for rule in rules
        ],
    }


def rule(text: str, **more: Any) -> Body:
    """A rule with a message, a reason and the like."""
    return {"rule": text, **more}


def array(items: Body, **more: Any) -> Body:
    """The schema of a list; rules want to know how long it may get."""
    return {"type": "array", "maxItems": 10, "items": items, **more}


def mapping(values: Body) -> Body:
    """The schema of a map."""
    return {"type": "object", "maxProperties": 10, "additionalProperties": values}


def definition(
    schema: Body | None, plural: str = "things", kind: str = "Thing", **spec: Any
) -> Body:
    """A definition of one version."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        **({} if schema is None else {"schema": {"openAPIV3Schema": schema}}),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": [version],
            **spec,
        },
    }


# ---- rules of objects ----------------------------------------------------------------------------

_KEYED: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
_ITEM: Final = fields({"k": {**TEXT, "maxLength": 9}, "v": WHOLE}, required=["k"])
_FAULTY: Final = fields({"i": WHOLE, "j": WHOLE, "l": array(WHOLE), "s": {**TEXT, "maxLength": 20}})

RULES: Final[dict[str, tuple[Body, list[Any]]]] = {
    "object": (
        ruled(
            fields({"a": WHOLE, "x-y": WHOLE, "map": mapping(WHOLE), "a.b": WHOLE}),
            "!has(self.a) || self.a < 10",
            rule("!has(self.a) || self.a < 10", fieldPath=".a", message="too big"),
            rule("!has(self.a) || self.a < 10", fieldPath=".map['k']", message=" on a key  "),
            rule("!has(self.a) || self.a < 10", fieldPath=".x-y", reason="FieldValueForbidden"),
            rule("!has(self.a) || self.a < 10", fieldPath="['a.b']", reason="FieldValueRequired"),
            rule("!has(self.a) || self.a < 10", reason="FieldValueDuplicate"),
        ),
        [{}, {"a": 9}, {"a": 10}],
    ),
    "text": (
        ruled(
            TEXT,
            rule('self != "r"', reason="FieldValueRequired", message=" said  "),
            rule('self != "f"', reason="FieldValueForbidden"),
            rule('self != "d"', reason="FieldValueDuplicate"),
            ' self != "i" ',
            "self == 'n' || int(self) > 0 || true",
        ),
        ["r", "f", "d", "i", "n", 'quo"ted'],
    ),
    "number": (
        ruled({"type": "number"}, "self / 2.0 < 0.5 || self > 1e30"),
        [0.5, 1, 1.5, 1e21, 123456789, 123456789.5, 1e6, 1e5, 1e-4, 1.5e-5, 100000.5, 1e31],
    ),
    "flag": (ruled({"type": "boolean"}, "self"), [True, False]),
    "either": (
        ruled({"x-kubernetes-int-or-string": True}, 'type(self) == int ? self > 0 : self == "x"'),
        [1, 0, "x", "y"],
    ),
    "date": (
        ruled(
            {"type": "string", "format": "date-time"}, 'self > timestamp("2020-01-01T00:00:00Z")'
        ),
        ["2019-01-01T00:00:00Z", "2021-01-01T00:00:00Z"],
    ),
    "duration": (
        ruled({"type": "string", "format": "duration"}, 'self > duration("1m")'),
        ["1s", "2m", "1h1s"],
    ),
    "durations": (
        ruled(array({"type": "string", "format": "duration"}), 'self.all(d, d > duration("1m"))'),
        [["2m", "1s"], ["2m"]],
    ),
    "nullable": (ruled({**TEXT, "nullable": True}, 'self == "x"'), [None, "x", "y"]),
    "null": (
        ruled(fields({"n": {**TEXT, "nullable": True}}), "has(self.n)"),
        [{"n": None}, {}, {"n": ""}],
    ),
    "escaped": (
        ruled(
            fields({"namespace": WHOLE, "x-y": WHOLE, "a.b": WHOLE, "a/b": WHOLE, "a__b": WHOLE}),
            (
                "self.__namespace__ + self.x__dash__y + self.a__dot__b + self.a__slash__b + "
                "self.a__underscores__b == 10"
            ),
        ),
        [
            {"namespace": 1, "x-y": 2, "a.b": 3, "a/b": 4, "a__b": 0},
            {"namespace": 1, "x-y": 2, "a.b": 3, "a/b": 4, "a__b": 5},
        ],
    ),
    "list": (
        ruled(
            array(ruled(WHOLE, "self > 1")),
            "size(self) > 1",
            "self[4] == 1 || true",
            "self[4] == 1",
            rule("size(self) > 1", reason="FieldValueDuplicate"),
        ),
        [[1], [2, 3]],
    ),
    "map": (
        ruled(
            mapping(ruled(WHOLE, "self > 1")),
            "size(self) > 1",
            'self.all(k, k != "a")',
            '"b" in self || self.a == 1',
            'self["a b"] == 1',
        ),
        [{"a": 1}, {"a": 2, "b": 3, "a b": 1}],
    ),
    "changes": (
        ruled(fields({"v": WHOLE}), rule("self.v >= oldSelf.v", message="no shrinking")),
        [{"v": 1}, ({"v": 1}, {"v": 0}), ({"v": 1}, {"v": 2}), ({"v": 1}, {}), (None, {"v": 0})],
    ),
    "keyed": (
        array(ruled(_ITEM, "self.v > 0", "self.v >= oldSelf.v"), **_KEYED),
        [
            ([{"k": "a", "v": 5}], [{"k": "b", "v": 2}, {"k": "a", "v": 4}]),
            [{"k": "a"}],
            ([{"k": "a", "v": 2}], [{"k": "a", "v": 0}]),
        ],
    ),
    "keyedwhole": (
        ruled(array(_ITEM, **_KEYED), "oldSelf.all(x, self.exists(y, y.k == x.k))"),
        [
            ([{"k": "a"}, {"k": "b"}], [{"k": "b"}, {"k": "a"}]),
            ([{"k": "a"}, {"k": "b"}], [{"k": "b"}]),
        ],
    ),
    "loose": (
        ruled(array(ruled(fields({"v": WHOLE}), "self.v > 0")), "size(self) >= size(oldSelf)"),
        [([{"v": 1}, {"v": 2}], [{"v": 1}, {"v": 0}]), ([{"v": 1}], [])],
    ),
    "mapped": (
        mapping(
            ruled(
                fields({"v": WHOLE}),
                rule("self.v < 5", fieldPath=".v"),
                rule("self.v >= oldSelf.v", message="no shrinking"),
            )
        ),
        [({"a": {"v": 3}}, {"a": {"v": 2}, "b": {"v": 1}, "c": {"v": 9}})],
    ),
    "atomicmap": (
        fields({"z": ruled(WHOLE, "self >= oldSelf")}, **{"x-kubernetes-map-type": "atomic"}),
        [({"z": 1}, {"z": 0})],
    ),
    "optional": (
        ruled(
            WHOLE,
            rule(
                "oldSelf.hasValue() ? self > oldSelf.value() : self == 1",
                optionalOldSelf=True,
                message="must grow",
            ),
        ),
        [1, 2, (1, 1), (1, 2), (1, 0), (1, None)],
    ),
    "expressed": (
        ruled(
            WHOLE,
            rule("self > 3", messageExpression='"got %d".format([self])', message="unused"),
            rule("self > 3", messageExpression='["", ""][self]', message="instead"),
            rule("self > 3", messageExpression='self == 1 ? "" : "a\\nb"'),
            rule("self > 3", messageExpression='self == 1 ? "  spaces " : "a\\nb"', message="m"),
        ),
        [1, 2, 0, 4],
    ),
    "faults": (
        ruled(
            _FAULTY,
            rule("self.i / self.j == 1", message="divides"),
            "self.i % self.j == 1",
            "self.l[2] == 1",
            "int(self.s) == 1",
            "self.i == 1 || self.j == 1",
            'duration(self.s) == duration("1s")',
            'timestamp(self.s) == timestamp("2020-01-01T00:00:00Z")',
            "self.i + 9223372036854775807 > 0",
            'self.s.substring(self.i) == ""',
            "dyn(self.i) + dyn(self.s) == 3",
            'self.s.matches(self.s + "(")',
            "self.l.min() == 3",
            '{"a": 1}[self.s] == 1',
            "quantity(self.s).isInteger()",
            'url(self.s).getHost() == ""',
            "optional.of(1).value() == 2",
            "optional.none().value() == 2",
            "semver(self.s).major() == 1",
            "ip(self.s).family() == 4",
            '"%d".format([dyn(self.s)]) == ""',
        ),
        [{"i": 1, "j": 0, "l": [1], "s": "abc"}, {}],
    ),
    "scalarfault": (ruled(TEXT, "int(self) == 1"), ["x", "1", "2"]),
    "lists": (
        ruled(
            array(WHOLE),
            "self.isSorted()",
            "self.sum() == 6",
            "self.min() == 1",
            "self.max() == 3",
            "sets.contains(self, [1])",
            "sets.intersects(self, [7, 3])",
            "sets.equivalent(self, [3, 2, 1, 1])",
            "self.sort() == [1, 2, 3]",
            "self.distinct().size() == 3",
            "self.slice(0, 1) == [1]",
            "[self].flatten() == self",
            "lists.range(3) == [0, 1, 2]",
        ),
        [[1, 2, 3], [3, 1], []],
    ),
    "texts": (
        ruled(
            TEXT,
            'self.find("a+") == "aa"',
            'self.findAll("a").size() == 2',
            'self.findAll("a", 1).size() == 1',
            "isQuantity(self)",
            "isSemver(self)",
            "isIP(self)",
            "isCIDR(self)",
            "isURL(self)",
            (
                'self.lowerAscii() == self.trim() && self.charAt(0) == "a" && '
                'self.split("a").size() == 3'
            ),
            'self.replace("a", "b") == "bb"',
        ),
        ["aa", "1.2.3", "10.0.0.1", "10.0.0.0/8", "http://a.b/c", "5Gi", ""],
    ),
    "made": (
        ruled(
            WHOLE,
            'quantity("1Ki").add(quantity("1")).compareTo(quantity("1025")) == 0',
            (
                'quantity("500m").isLessThan(quantity("1")) && '
                'quantity("2").sub(1).isGreaterThan(quantity("0"))'
            ),
            'quantity("5").asInteger() == 5 && quantity("1500m").asApproximateFloat() == 1.5',
            'url("http://u@a.b:80/c%20d?e=f&e=g").getHost() == "a.b:80"',
            (
                'url("http://a.b:80/c?d=e").getHostname() == "a.b" && '
                'url("http://a.b:80/c?d=e").getPort() == "80"'
            ),
            (
                'url("http://a.b/c d").getEscapedPath() == "/c%20d" && '
                'url("http://a.b/?e=f&e=g").getQuery() == {"e": ["f", "g"]}'
            ),
            (
                'cidr("10.0.0.0/8").containsIP("10.1.2.3") && '
                'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")'
            ),
            (
                'cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && '
                'cidr("10.1.2.3/8").prefixLength() == 8'
            ),
            (
                'cidr("10.1.2.3/8").ip() == ip("10.1.2.3") && '
                'cidr("10.0.0.0/8").containsIP(ip("10.0.0.1"))'
            ),
            (
                'ip("::1").isLoopback() && ip("::1").family() == 6 && '
                '!ip("10.0.0.1").isUnspecified() && ip("10.0.0.1").isGlobalUnicast()'
            ),
            'ip.isCanonical("::1") && !ip.isCanonical("0::1")',
            'ip("224.0.0.1").isLinkLocalMulticast() && ip("fe80::1").isLinkLocalUnicast()',
            (
                'semver("1.2.3").minor() == 2 && '
                'semver("1.2.3-rc.1").isLessThan(semver("1.2.3")) && semver("v1.2", '
                "true).patch() == 0"
            ),
            '[1, 2].exists_one(x, x == 1) && [{"a": 1}].map(x, x.a) == [1]',
        ),
        [1],
    ),
    "embedded": (
        ruled(
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            'self.kind == "Pod"',
            'self.metadata.name == "x"',
        ),
        [
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "y"}},
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "x"}},
        ],
    ),
    "preserving": (
        ruled(
            {**fields({"i": WHOLE}), "x-kubernetes-preserve-unknown-fields": True}, "has(self.i)"
        ),
        [{"i": 1, "x": 2}, {"x": 2}],
    ),
}

ROOTED: Final = ruled(
    fields({"spec": fields({name: schema for name, (schema, _) in RULES.items()})}),
    rule('!self.metadata.name.startsWith("bad")', message="bad name", fieldPath=".spec"),
    '!self.metadata.name.startsWith("bad") && self.kind == "Thing"',
)
"""The schema with all of these."""

# ---- definitions ---------------------------------------------------------------------------------


def _changed(path: str, value: Any) -> Body:
    """A good definition with one place changed; None removes it."""
    body: Body = copy.deepcopy(definition(fields({"spec": fields({"i": WHOLE})}), plural="names"))
    *parents, last = path.split(".")
    at: Any = body
    for key in parents:
        at = at[int(key) if key.isdecimal() else key]
    if value is None:
        at.pop(last, None)
    else:
        at[last] = value
    return body


_VERSION: Final = definition(fields({"spec": fields({"i": WHOLE})}))["spec"]["versions"][0]
_FIRST: Final = "spec.versions.0"
_CHANGES: Final[dict[str, tuple[str, Any]]] = {
    "another name": ("metadata.name", "x.y"),
    "no group": ("spec.group", None),
    "group in capitals": ("spec.group", "Bad"),
    "group without dots": ("spec.group", "nodots"),
    "plural in capitals": ("spec.names.plural", "BAD"),
    "no plural": ("spec.names.plural", None),
    "no kind": ("spec.names.kind", None),
    "kind that is no label": ("spec.names.kind", "Bad_"),
    "list kind like kind": ("spec.names.listKind", "Thing"),
    "singular in capitals": ("spec.names.singular", "Bad"),
    "short name in capitals": ("spec.names.shortNames", ["Bad", "a"]),
    "category in capitals": ("spec.names.categories", ["Bad"]),
    "no scope": ("spec.scope", None),
    "unknown scope": ("spec.scope", "Foo"),
    "no versions": ("spec.versions", []),
    "nothing stored": (f"{_FIRST}.storage", False),
    "stored not said": (f"{_FIRST}.storage", None),
    "two stored": ("spec.versions", [_VERSION, {**_VERSION, "name": "v2"}]),
    "version that is no label": (f"{_FIRST}.name", "V_1"),
    "no schema": (f"{_FIRST}.schema", None),
    "empty schema": (f"{_FIRST}.schema", {}),
    "preserving all": ("spec.preserveUnknownFields", True),
    "unknown conversion": ("spec.conversion", {"strategy": "Foo"}),
    "webhook without a place": ("spec.conversion", {"strategy": "Webhook"}),
    "reviews without webhook": (
        "spec.conversion",
        {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}},
    ),
    "columns": (
        f"{_FIRST}.additionalPrinterColumns",
        [
            {"name": "A", "type": "foo", "jsonPath": ".x"},
            {"name": "", "type": "", "jsonPath": ""},
            {"name": "A", "type": "string", "jsonPath": "x", "format": "zz"},
        ],
    ),
    "empty scale": (f"{_FIRST}.subresources", {"scale": {}}),
    "scale elsewhere": (
        f"{_FIRST}.subresources",
        {
            "scale": {
                "specReplicasPath": "spec.r",
                "statusReplicasPath": ".spec.x",
                "labelSelectorPath": ".foo",
            }
        },
    ),
    "selectable fields": (
        f"{_FIRST}.selectableFields",
        [
            {"jsonPath": path}
            for path in (".spec.x", "spec.i", ".spec", ".metadata.name", ".spec.i", ".spec.i")
        ],
    ),
    "warning without deprecation": (f"{_FIRST}.deprecationWarning", "x"),
    "longest singular": ("spec.names.singular", "s" * 63),
    "longer singular": ("spec.names.singular", "s" * 64),
    "longest kind with a list": ("spec.names.kind", "K" * 59),
    "kind whose list is longer": ("spec.names.kind", "K" * 60),
    "longer short name": ("spec.names.shortNames", ["s" * 63, "s" * 64]),
    "longer category": ("spec.names.categories", ["c" * 63, "c" * 64]),
    "longest version": (f"{_FIRST}.name", "v" * 63),
    "longer version": (f"{_FIRST}.name", "v" * 64),
}

_COMPILED: Final = ruled(
    fields({"i": WHOLE, "s": {**TEXT, "maxLength": 5}}),
    "self.foo == 1",
    "self.i ==",
    "undeclared == 1",
    rule("true", messageExpression="self."),
    rule("true", messageExpression="1"),
    rule("true", messageExpression="oldSelf.s"),
    rule("true\n", message=""),
    rule("true", optionalOldSelf=True),
    "self.s.nope()",
    '"a" == 1',
    'self.i == 1 ? true : "a"',
    "has(self.metadata)",
    "self.i == 1 && oldSelf.foo > 1",
    rule("true\n || foo < 1", message="m"),
    '"self.foo" == self.s',
)
_WRITTEN: Final = ruled(
    fields({"i": WHOLE}),
    "",
    "  ",
    rule("true", fieldPath="i"),
    rule("true", fieldPath=".nope"),
    rule("true", fieldPath=".i[0]"),
    rule("true", reason="Bad"),
    rule("true\n || true", message=""),
    rule("true", message="a\nb"),
    rule("true", message="  "),
)

DEFINITIONS: Final[dict[str, Body]] = {
    **{f"definition: {name}": _changed(path, value) for name, (path, value) in _CHANGES.items()},
    **{
        f"schema: {name}": definition(schema, plural="schemas", kind="Schema")
        for name, schema in SCHEMAS.items()
    },
    "versions with different schemas": _changed(
        "spec.versions",
        [
            {**_VERSION, "schema": {"openAPIV3Schema": fields({"a": {}})}},
            {
                **_VERSION,
                "name": "v2",
                "storage": False,
                "schema": {"openAPIV3Schema": fields({"b": {}})},
            },
        ],
    ),
    "versions of which one has a faulty column": _changed(
        "spec.versions",
        [
            {
                **_VERSION,
                "additionalPrinterColumns": [{"name": "", "type": "foo", "jsonPath": ".x"}],
            },
            {**_VERSION, "name": "v2", "storage": False},
        ],
    ),
    "rules that do not compile": definition(fields({"spec": _COMPILED})),
    "rules that are written badly": definition(fields({"spec": _WRITTEN})),
    "rules that look at what has no old value": definition(
        fields({"l": array(ruled(fields({"a": WHOLE}), "self.a == oldSelf.a"))})
    ),
    "rules with all objects": definition(ROOTED),
}

# ---- large ones, of an operator ------------------------------------------------------------------

CRDS: Final = Path(__file__).parent / "definitions"
_PROFILE: Final[Body] = {"controllerName": "c"}
_LONG: Final = "n" * 64

OWN: Final[dict[str, tuple[str, str, Any, Any]]] = {
    "a profile": ("schedulerprofiles", "p", None, _PROFILE),
    "a profile with a long name": ("schedulerprofiles", _LONG, None, _PROFILE),
    "a profile with a long name and another for pods": (
        "schedulerprofiles",
        _LONG,
        None,
        {**_PROFILE, "schedulerName": "s"},
    ),
    "another controller": ("schedulerprofiles", "p", _PROFILE, {"controllerName": "d"}),
    "the same controller": (
        "schedulerprofiles",
        "p",
        _PROFILE,
        {**_PROFILE, "percentageOfNodesToScore": 50},
    ),
    "a name for pods that was not there": (
        "schedulerprofiles",
        "p",
        _PROFILE,
        {**_PROFILE, "schedulerName": "s"},
    ),
    "another name for pods": (
        "schedulerprofiles",
        "p",
        {**_PROFILE, "schedulerName": "s"},
        {**_PROFILE, "schedulerName": "t"},
    ),
    "backoffs in order": (
        "schedulerprofiles",
        "p",
        None,
        {**_PROFILE, "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1},
    ),
    "backoffs out of order": (
        "schedulerprofiles",
        "p",
        None,
        {**_PROFILE, "podInitialBackoffSeconds": 2, "podMaxBackoffSeconds": 1},
    ),
    "arguments of a plugin": (
        "schedulerprofiles",
        "p",
        None,
        {**_PROFILE, "pluginConfig": [{"name": "A", "args": {"x": 1}}]},
    ),
    "arguments nowhere and twice": (
        "schedulerprofiles",
        "p",
        None,
        {
            **_PROFILE,
            "pluginConfig": [
                {"name": "A"},
                {"name": "B", "args": {}, "configRef": {"name": "b"}},
                {"name": "C", "args": {}},
            ],
        },
    ),
    "a configuration": ("pluginconfigs", "c", None, {"plugin": "A", "args": {"x": 1}}),
    "other arguments": ("pluginconfigs", "c", {"plugin": "A"}, {"plugin": "A", "args": {"x": 2}}),
    "another plugin": ("pluginconfigs", "c", {"plugin": "A"}, {"plugin": "B"}),
}
"""Plural, name, old spec, new spec."""


def own(plural: str) -> Body:
    """One of this project's definitions."""
    body: Body = yaml.safe_load((CRDS / f"{plural}.yaml").read_text())
    return body


def named(body: Body, name: str) -> Body:
    """An empty object of a definition's kind."""
    spec = body["spec"]
    api_version = f"{spec['group']}/{spec['versions'][0]['name']}"
    return {"apiVersion": api_version, "kind": spec["names"]["kind"], "metadata": {"name": name}}
