"""Host ports in use, indexed by (protocol, port), since few pods have one and a conflict is looked
for by port.

Each use is counted: two pods that share an address and port on one node (made by another scheduler,
say) leave it one by one. kube-scheduler keeps a set there and forgets the second pod's port when
the first one goes; users are better served by counting.
"""

from __future__ import annotations

from moorage.core.pods.host_ports import WILDCARD, HostPort


class PortTable:
    """Which rows use which host ports under which addresses."""

    def __init__(self) -> None:
        self._users: dict[tuple[str, int], dict[int, dict[str, int]]] = {}

    def charge(self, row: int, ports: tuple[HostPort, ...], sign: int) -> None:
        """Count (``sign`` 1) or discount (-1) one pod's host ports."""
        for protocol, port, ip in ports:
            rows = self._users.setdefault((protocol, port), {})
            uses = rows.setdefault(row, {})
            uses[ip] = uses.get(ip, 0) + sign
            if not uses[ip]:
                del uses[ip]
                if not uses:
                    del rows[row]
                    if not rows:
                        del self._users[protocol, port]

    def taken(self, row: int, port: HostPort) -> bool:
        """Whether this port clashes with one that is in use on the row."""
        uses = self._users.get((port.protocol, port.port), {}).get(row)
        return uses is not None and (port.ip == WILDCARD or port.ip in uses or WILDCARD in uses)

    def conflicts(self, port: HostPort) -> list[int]:
        """The rows on which this port is taken: same protocol and port under the same address, or
        either under the wildcard.
        """
        rows = self._users.get((port.protocol, port.port), {})
        if port.ip == WILDCARD:
            return list(rows)
        return [row for row, uses in rows.items() if port.ip in uses or WILDCARD in uses]
