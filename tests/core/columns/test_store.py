"""The store of all other objects: kept by name, with clocks, and indexes that follow."""

from __future__ import annotations

import pytest

from moorage.core.columns.store import Store
from moorage.core.objects.meta import Namespace, ObjectMeta
from moorage.core.objects.workloads import Service, ServiceSpec


def service(name: str, namespace: str = "default", **selector: str) -> Service:
    """A Service."""
    return Service(ObjectMeta(name=name, namespace=namespace), ServiceSpec(selector))


def test_objects_by_name() -> None:
    """In the order in which they came; a new state takes the old one's place; views follow and
    cannot be written.
    """
    store = Store()
    view = store.objects(Service)
    for one in (service("b"), service("a"), service("a", "other"), service("b", app="x")):
        store.put(one)
    store.put(Namespace(ObjectMeta(name="default")))
    assert list(view.items()) == [
        ("default/b", service("b", app="x")),
        ("default/a", service("a")),
        ("other/a", service("a", "other")),
    ]
    assert list(store.objects(Namespace)) == ["default"]
    assert store.objects(Service) is view
    with pytest.raises(TypeError):
        view["default/c"] = service("c")  # type: ignore[index]


def test_clocks() -> None:
    """Each change moves its kind's clock and no other's; taking out what is not there is no
    change.
    """
    store = Store()
    clock, other = store.version_counter(Service), store.version_counter(Namespace)
    versions = [clock.version]
    for came in (True, True, False):
        if came:
            store.put(service("a"))
        else:
            store.remove(Service, "default/a")
        versions.append(clock.version)
    assert len(set(versions)) == 4
    store.remove(Service, "default/a")
    assert (clock.version, other.version) == (versions[-1], 0)
    assert store.version_counter(Service) is clock


class Names:
    """An index that writes down what it is told."""

    def __init__(self, store: Store) -> None:
        self.told: list[tuple[str | None, str | None]] = []
        store.follow(Service, self._changed)

    def _changed(self, old: Service | None, new: Service | None) -> None:
        self.told.append((old.metadata.name if old else None, new.metadata.name if new else None))


def test_indexes_follow() -> None:
    """One is made when first asked for, is told of what is there already, and of each change after
    that.
    """
    store = Store()
    store.put(service("a"))
    index = store.index(Names)
    store.put(service("b"))
    store.put(service("b", app="x"))
    store.remove(Service, "default/a")
    store.put(Namespace(ObjectMeta(name="default")))
    assert store.index(Names) is index
    assert index.told == [(None, "a"), (None, "b"), ("b", "b"), ("a", None)]


def test_an_index_that_refuses_what_is_there_follows_nothing() -> None:
    """It may be asked for again; changes do not fail for it."""

    class Refusing:
        def __init__(self, store: Store) -> None:
            store.follow(Service, self._changed)

        def _changed(self, _old: Service | None, new: Service | None) -> None:
            if new is not None and new.metadata.name == "odd":
                raise ValueError("odd")

    store = Store()
    store.put(service("odd"))
    with pytest.raises(ValueError, match="odd"):
        store.index(Refusing)
    store.put(service("odd", app="x"))
    store.remove(Service, "default/odd")
    assert store.index(Refusing) is store.index(Refusing)
