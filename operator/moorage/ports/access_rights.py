"""Access rights: what the operator's own service account may do, as roles have it."""

from __future__ import annotations

from typing import NamedTuple


class AccessRight(NamedTuple):
    """What the service account may do: everywhere, or with ``home`` in the namespace of the Lease;
    to every object, or to the one of this ``name``. ``resource`` may name a subresource, as in
    pods/binding.
    """

    verb: str
    group: str
    resource: str
    home: bool = False
    name: str = ""

    def __str__(self) -> str:
        where = " in its own namespace" if self.home else ""
        name = f" {self.name!r}" if self.name else ""
        return f"{self.verb} {self.resource}{self.group and f'.{self.group}'}{name}{where}"
