"""The table of host ports agrees with comparing every pair of ports, whatever comes and goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.nodes.port_table import PortTable
from moorage.core.pods.host_ports import WILDCARD, HostPort, clash

PORTS = st.builds(
    HostPort,
    st.sampled_from(["TCP", "UDP"]),
    st.sampled_from([80, 81]),
    st.sampled_from([WILDCARD, "10.0.0.1", "::"]),
)
USES = st.lists(st.tuples(st.integers(0, 3), PORTS), max_size=12)


def test_clashes() -> None:
    """The wildcard clashes with every address of the same protocol and port; other addresses only
    with themselves.
    """
    wild, one, other = (HostPort("TCP", 80, ip) for ip in (WILDCARD, "10.0.0.1", "::"))
    assert clash(wild, wild) and clash(wild, one) and clash(one, wild) and clash(one, one)
    assert not clash(one, other)
    assert not clash(wild, HostPort("UDP", 80, WILDCARD))
    assert not clash(wild, HostPort("TCP", 81, WILDCARD))


@given(USES, st.data())
def test_the_table_agrees_with_comparing_pairs(
    uses: list[tuple[int, HostPort]], data: st.DataObject
) -> None:
    """After some of the uses are gone again."""
    table = PortTable()
    for row, port in uses:
        table.charge(row, (port,), 1)
    left = list(uses)
    for use in data.draw(st.permutations(uses)) if uses else []:
        if data.draw(st.booleans()):
            table.charge(use[0], (use[1],), -1)
            left.remove(use)
    for port in {port for _, port in uses}:
        rows = {row for row, held in left if clash(held, port)}
        assert set(table.conflicts(port)) == rows
        assert {row for row in range(5) if table.taken(row, port)} == rows
