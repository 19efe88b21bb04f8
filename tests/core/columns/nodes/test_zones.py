"""The order of visiting: round the zones; a node that changes its zone keeps its place until nodes
come or go.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.nodes.zones import NodeOrder
from moorage.core.objects.nodes import Node, NodeMeta


def node(name: str, zone: str) -> Node:
    """A node in a zone."""
    return Node(NodeMeta(name=name, labels={"topology.kubernetes.io/zone": zone}))


def test_a_node_that_changes_its_zone_moves_when_the_next_one_comes() -> None:
    """As in kube-scheduler, whose list of nodes is made anew only then."""
    order = NodeOrder()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b"), ("b2", "b")):
        order.put(node(name, zone))
    assert order.names == ("a1", "b1", "a2", "b2")
    order.put(node("a1", "b"))
    assert order.names == ("a1", "b1", "a2", "b2")
    order.put(node("c1", "c"))
    assert order.names == ("a2", "b1", "c1", "b2", "a1")
    order.put(node("b1", "c"))
    order.remove("a2")
    assert order.names == ("b2", "c1", "a1", "b1")


CHANGES = st.lists(
    st.tuples(st.sampled_from("nmlk"), st.sampled_from(["", "a", "b"]), st.booleans()), max_size=12
)


@given(CHANGES)
def test_it_does_not_matter_when_somebody_asks(changes: list[tuple[str, str, bool]]) -> None:
    """The order goes by the changes alone; a zone "" here is a node that goes."""
    asked, unasked = NodeOrder(), NodeOrder()
    for name, zone, asks in changes:
        for order in (asked, unasked):
            if zone:
                order.put(node(name, zone))
            else:
                order.remove(name)
        if asks:
            assert len(asked.names) == len({*asked.names})
    assert asked.names == unasked.names
