"""Names made from other names."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubefacts.names import is_qualified
from moorage.ports.made_names import replica_lease, shortened

NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True)


@given(NAMES, NAMES)
def test_shortened_names_fit_a_label_and_stay_apart(one: str, other: str) -> None:
    """Any object's name becomes a valid label value; two names never become the same one; short
    ones stay as they are.
    """
    assert is_qualified(shortened(one))
    assert (shortened(one) == shortened(other)) == (one == other)
    assert len(one) > 63 or shortened(one) == one


@given(NAMES, st.text(min_size=1))
def test_a_replicas_lease_has_a_valid_name(lease: str, identity: str) -> None:
    """Whatever the identity holds, the name is at most 253 characters of a DNS name, and another
    one's is another.
    """
    name = replica_lease(lease, identity)
    assert len(name) <= 253 and name[0].isalnum() and name[-1].isalnum()
    assert name != replica_lease(lease, identity + "x")
