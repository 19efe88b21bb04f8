"""Tables show what kube-apiserver shows: recorded_tables.json, recorded from one."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.model.api_errors import ApiError
from towtank.model.kinds import APIResource, TableColumn
from towtank.tables import ages, json_paths
from towtank.tables import printer as tables

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded_tables.json").read_text())
NOW = datetime(2026, 1, 1, tzinfo=UTC)
THINGS = "/apis/example.com/v1/namespaces/shown/things"


def resource(path: str) -> APIResource:
    """What is served at a path; custom ones with the columns of their recorded definitions."""
    _, api, *rest = path.split("/")
    group, version = ("", rest[0]) if api == "api" else (rest[0], rest[1])
    plural, kind = path.rpartition("/")[2], RECORDED[path]["kind"]
    columns = tuple(custom_columns(plural))
    return APIResource(group, version, plural, kind, custom=group == "example.com", columns=columns)


def custom_columns(plural: str) -> Iterator[TableColumn]:
    """As a definition has them."""
    definitions = RECORDED["/apis/apiextensions.k8s.io/v1/customresourcedefinitions"]["items"]
    for definition in definitions:
        if definition["spec"]["names"]["plural"] == plural:
            for column in definition["spec"]["versions"][0].get("additionalPrinterColumns", ()):
                given = {
                    key: column[key]
                    for key in ("format", "description", "priority")
                    if key in column
                }
                yield TableColumn(
                    column["name"], column["type"], json_path=column["jsonPath"], **given
                )


def shown(path: str) -> Any:
    """Our table of the recorded objects."""
    recorded = RECORDED[path]
    # In between two seconds, as the clock mostly is.
    now = datetime.fromtimestamp(recorded["now"], UTC) + timedelta(seconds=0.5)
    return tables.table(
        resource(path), recorded["items"], now=now, include_object="None", list_meta={}
    )


@pytest.mark.parametrize("path", RECORDED)
def test_columns_are_those_of_kube_apiserver(path: str) -> None:
    """Names, types, formats and which are wide."""
    columns = [
        [column[key] for key in ("name", "type", "format", "priority")]
        for column in shown(path)["columnDefinitions"]
    ]
    assert columns == RECORDED[path]["columns"]


@pytest.mark.parametrize("path", RECORDED)
def test_cells_are_those_of_kube_apiserver(path: str) -> None:
    """Of each object in each state."""
    names = [item["metadata"]["name"] for item in RECORDED[path]["items"]]
    ours = dict(zip(names, (row["cells"] for row in shown(path)["rows"]), strict=True))
    assert ours == dict(zip(names, RECORDED[path]["rows"], strict=True))
    # True equals 1 in Python.
    assert json.dumps(list(ours.values())).count("true") == json.dumps(
        RECORDED[path]["rows"]
    ).count("true")


@pytest.mark.parametrize("path", RECORDED)
def test_what_is_over_is_said_to_be(path: str) -> None:
    """Rows of pods that have ended have a condition."""
    conditions = [
        [each["type"] + each["reason"] for each in row.get("conditions", ())]
        for row in shown(path)["rows"]
    ]
    assert conditions == RECORDED[path]["conditions"]


def test_the_recording_covers_what_is_hard() -> None:
    """A recording that went wrong would make the tests above easy."""
    assert {"Init:Signal:15", "Terminating", "CrashLoopBackOff", "SchedulingGated", "NotReady"} <= {
        row[2] for row in RECORDED["/api/v1/namespaces/shown/pods"]["rows"]
    }
    assert len(RECORDED[THINGS]["rows"]) > 15


# ---- the table around the cells ------------------------------------------------------------------

PODS = APIResource("", "v1", "pods", "Pod")
POD = {"metadata": {"name": "a", "namespace": "b"}, "spec": {"containers": []}}


def test_rows_carry_metadata_or_the_object_or_nothing() -> None:
    """As includeObject says, which takes no other word."""

    def carried(include: str) -> Any:
        return tables.table(PODS, [POD], now=NOW, include_object=include, list_meta={})["rows"][0][
            "object"
        ]

    partial = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": POD["metadata"],
    }
    assert [carried(include) for include in ("", "Metadata", "Object", "None")] == [
        partial,
        partial,
        POD,
        None,
    ]
    with pytest.raises(
        ApiError, match="includeObject: Invalid value: \"all\": must be 'Metadata'"
    ) as caught:
        carried("all")
    assert caught.value.code == 400


def test_a_watch_says_its_columns_once() -> None:
    """Only the first event of a watch has headers."""
    printer = tables.TablePrinter(PODS)
    first, second = (
        printer.table([POD], NOW, {"resourceVersion": "7"}, headers=headers)
        for headers in (True, False)
    )
    assert len(first["columnDefinitions"]) == 9 and second["columnDefinitions"] is None
    assert first["rows"] == second["rows"] and first["metadata"] == {"resourceVersion": "7"}


def test_a_list_of_metadata() -> None:
    """As controllers that look at owners and labels alone ask for it."""
    found = tables.partials([POD], {"resourceVersion": "7"})
    assert (found["kind"], found["metadata"], found["items"]) == (
        "PartialObjectMetadataList",
        {"resourceVersion": "7"},
        [tables.partial(POD)],
    )


@pytest.mark.parametrize("path", RECORDED)
def test_a_bookmark_has_a_row_though_its_object_has_metadata_alone(path: str) -> None:
    """No cell may count on what a bookmark lacks."""
    bookmark = {"metadata": {"resourceVersion": "7"}}
    table = tables.table(resource(path), [bookmark], now=NOW, list_meta={})
    assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])


# ---- ages ----------------------------------------------------------------------------------------

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (0, "0s"),
        (119.9, "119s"),
        (120, "2m"),
        (123, "2m3s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE + 59, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR + 59 * MINUTE, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY + 4 * HOUR, "2d4h"),
        (7 * DAY, "7d"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (3 * YEAR + 5 * DAY, "3y5d"),
        (8 * YEAR + 5 * DAY, "8y"),
    ],
)
def test_an_age_has_one_or_two_units(seconds: float, shown: str) -> None:
    """Each step of precision, from both sides."""
    assert ages.human(timedelta(seconds=seconds)) == shown


@given(st.text(max_size=30))
def test_no_timestamp_breaks_an_age(text: str) -> None:
    """A custom resource's date column may hold any string."""
    assert ages.at(NOW)(text)


# ---- paths ---------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
)


@given(
    st.text(alphabet=".[]*?()@'\"=!<>abc01-\\ ", max_size=14).map(lambda text: f".{text}"), VALUES
)
def test_no_path_breaks_a_table(path: str, value: Any) -> None:
    """Definitions may hold nearly any path, and objects any value."""
    list(json_paths.parse(path)(value))


@given(VALUES, st.lists(st.sampled_from("abc"), max_size=3))
def test_a_path_of_fields_goes_where_it_says(value: Any, fields: list[str]) -> None:
    """By dots and by quoted names alike."""
    expected = [value]
    for field in fields:
        expected = [each[field] for each in expected if isinstance(each, dict) and field in each]
    assert list(json_paths.parse("".join(f".{field}" for field in fields))(value)) == expected
    assert list(json_paths.parse("".join(f"['{field}']" for field in fields))(value)) == expected
