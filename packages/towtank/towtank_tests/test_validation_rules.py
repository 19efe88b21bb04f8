"""Rules of schemas, held against what a kube-apiserver said of the same writes
(``custom.cases.RECORDED``), and against any JSON at all.
"""

import dataclasses
import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body
from towtank.model.schema_nodes import MergeType, SchemaNode, ValidationRule
from towtank.schemas import cel_expressions, schema_parser, validation_rules
from towtank_tests.custom.cases import OWN, RECORDED, ROOTED, RULES, definition, named, own

SAID: Final = json.loads(RECORDED.read_text())
WRITES: Final = [(name, i) for name, (_, writes) in RULES.items() for i in range(len(writes))]


def fields_and_texts(causes: list[StatusCause]) -> list[list[str]]:
    """As they are recorded; the API server goes through an object's fields in any order."""
    return sorted([cause.reason, cause.field, cause.text] for cause in causes)


@pytest.fixture(scope="module")
def rooted() -> SchemaNode:
    """The schema of all cases."""
    return schema_parser.parse(ROOTED)


@pytest.mark.parametrize(("name", "index"), WRITES, ids=[f"{name}-{i}" for name, i in WRITES])
def test_rules_say_what_the_api_server_says(rooted: SchemaNode, name: str, index: int) -> None:
    """Word by word."""
    write = RULES[name][1][index]
    old, new = write if isinstance(write, tuple) else (None, write)

    def whole(value: Any) -> Body:
        return {
            **named(definition(ROOTED), "a"),
            "spec": {} if value is None and isinstance(write, tuple) else {name: value},
        }

    before = whole(old) if isinstance(write, tuple) else None
    assert fields_and_texts(validation_rules.check(whole(new), before, rooted)) == sorted(
        SAID["writes"][name][index]
    )


def test_rules_of_the_object_itself_see_its_name_and_kind(rooted: SchemaNode) -> None:
    """And are told without a field."""
    found = validation_rules.check({**named(definition(ROOTED), "bad"), "spec": {}}, None, rooted)
    assert fields_and_texts(found) == sorted(SAID["writes"]["root"][0])
    assert found[-1].field == validation_rules.ROOT


@pytest.mark.parametrize("case", OWN)
def test_the_rules_of_this_project_s_definitions(case: str) -> None:
    """They are the first customers."""
    plural, name, old, new = OWN[case]
    body = own(plural)
    node = schema_parser.parse(body["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    thing = named(body, name)
    before = None if old is None else {**thing, "spec": old}
    assert fields_and_texts(validation_rules.check({**thing, "spec": new}, before, node)) == sorted(
        SAID["own"][case]
    )


def test_each_rule_of_this_project_is_broken_by_some_case() -> None:
    """So none goes untested."""
    broken = {
        cause[2].partition("Invalid value: ")[2].split('": ')[-1]
        for case in SAID["own"].values()
        for cause in case
    }
    messages = set()
    for plural in ("schedulerprofiles", "pluginconfigs"):
        text = json.dumps(own(plural))
        for part in text.split('"x-kubernetes-validations": ')[1:]:
            messages |= {rule["message"] for rule in json.JSONDecoder().raw_decode(part)[0]}
    assert broken == messages


ANY: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["a", "k", "v", "s", "x-y", "\ud800"]) | st.text(max_size=3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(name=st.sampled_from(sorted(RULES)), new=ANY, old=ANY)
def test_no_body_makes_rules_raise(name: str, new: Any, old: Any) -> None:
    """Whether it keeps to the schema or not."""
    node = schema_parser.parse(ROOTED)
    for before in (None, {"metadata": {}, "spec": {name: old}}):
        for cause in validation_rules.check({"metadata": {}, "spec": {name: new}}, before, node):
            assert cause.field
            assert cause.reason.startswith("FieldValue")


@given(
    text=st.text(
        alphabet=st.sampled_from('selfoldSelf.hasValue()[]{}?:"\\ +-=<>&|!1a\n'), max_size=20
    ),
    optional=st.booleans(),
)
def test_no_text_makes_compiling_raise(text: str, optional: bool) -> None:
    """Whether it is an expression or not."""
    node = SchemaNode(
        type="object",
        properties={"a": SchemaNode(type="integer")},
        rules=(ValidationRule(text, optional_old_self=optional),),
    )
    for cause in validation_rules.compile_errors(node, "p"):
        assert cause.field.startswith("p.x-kubernetes-validations[0].")


@given(value=ANY)
def test_what_was_there_already_is_not_refused(value: Any) -> None:
    """A rule that does not look at the old value judges changes only."""
    node = SchemaNode(type="object", properties={"v": SchemaNode(rules=(ValidationRule("false"),))})
    body = {"v": value}
    assert validation_rules.check(body, body, node) == []
    assert bool(validation_rules.check(body, None, node)) == (value is not None)


_ITEM: Final = SchemaNode(type="integer", rules=(ValidationRule("self > 5"),))


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ([1, 2], [1, 2], []),
        ([1, 2], [1, 3], ["l[0]", "l[1]"]),
        ([1], None, []),
        (None, [1], ["l[0]"]),
        ([], [6], []),
    ],
)
def test_items_without_identity_are_as_untouched_as_their_list(
    old: list[int] | None, new: list[int] | None, refused: list[str]
) -> None:
    """As kube-apiserver 1.36.1 did it with objects that were older than a rule."""
    node = SchemaNode(type="object", properties={"l": SchemaNode(type="array", items=_ITEM)})
    assert [
        cause.field for cause in validation_rules.check({"l": new}, {"l": old}, node)
    ] == refused


def test_items_without_identity_have_no_old_value() -> None:
    """A rule on changes is not asked of them."""
    item = SchemaNode(
        type="object",
        properties={"v": SchemaNode(type="integer")},
        rules=(ValidationRule("self == oldSelf"),),
    )
    for merge in (MergeType.ATOMIC, MergeType.SET):
        node = SchemaNode(
            type="object", properties={"l": SchemaNode(type="array", items=item, merge=merge)}
        )
        assert validation_rules.check({"l": [{"v": 1}]}, {"l": [{"v": 2}]}, node) == []


def test_a_rule_that_takes_too_long_ends_all() -> None:
    """The next one is not asked."""
    slow = "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, a + b + c + d >= 0))))"
    node = SchemaNode(
        type="object",
        properties={"l": SchemaNode(type="array", items=SchemaNode(type="integer"))},
        rules=(ValidationRule(slow), ValidationRule("false")),
    )
    (cause,) = validation_rules.check({"l": list(range(60))}, None, node)
    assert cause.text.startswith(
        "Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no "
        "further validation rules will be run"
    )


def test_expressions_see_only_what_a_schema_names() -> None:
    """And, of every object, what identifies it."""
    node = dataclasses.replace(
        schema_parser.parse({"type": "object", "properties": {"in": {"type": "number"}}}),
        embedded=True,
    )
    body = {"in": 1, "other": 2, "kind": "K", "metadata": {"name": "n", "labels": {}}}
    found = cel_expressions.as_cel_value(body, node)
    assert found == {"__in__": 1.0, "kind": "K", "metadata": {"name": "n"}}
    assert isinstance(found["__in__"], float)
