"""Functions of Kubernetes' CEL for URLs, IP addresses and networks; each is a map with one entry
(``cel_functions``).
"""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from kubefacts.cel_functions import CELFunction, MarkedMap, reads, text_behind

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_BOOL, _INT, _TEXT, _MAP = "bool", "int", "string", "map"

# ---- URLs, addresses, networks -------------------------------------------------------------------


def _url(text: str) -> MarkedMap:
    parts = urllib.parse.urlsplit(text)
    if not (parts.scheme or text.startswith("/")):
        raise ValueError(
            f'URL parse error during conversion from string: parse "{text}": invalid URI for '
            f"request"
        )
    _ = parts.port  # is it a number?
    return {"url": text}


def _part(read: Callable[[urllib.parse.SplitResult], str]) -> Callable[[MarkedMap], str]:
    return lambda value: read(urllib.parse.urlsplit(text_behind(value, "url")))


def _query(value: MarkedMap) -> dict[str, list[str]]:
    return urllib.parse.parse_qs(urllib.parse.urlsplit(text_behind(value, "url")).query, True)


def _address(text: str) -> _Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        why = (
            f'IP Address "{text}" parse error during conversion from string: '
            f'ParseAddr("{text}"): unable to parse IP'
        )
        raise ValueError(why) from None
    if isinstance(found, ipaddress.IPv6Address) and (found.scope_id or found.ipv4_mapped):
        raise ValueError(f'IP Address "{text}" with zone value or mapped from IPv4 is not allowed')
    return found


def _network(text: str) -> _Network:
    if not re.search(r"/\d+\Z", text):
        why = (
            f"network address parse error during conversion from string: "
            f"netip.ParsePrefix(\"{text}\"): no '/'"
        )
        raise ValueError(why)
    return ipaddress.ip_network(text, strict=False)


def _ip(text: str) -> MarkedMap:
    return {"ip": str(_address(text))}


def _cidr(text: str) -> MarkedMap:
    _network(text)
    address, _, length = text.rpartition("/")
    return {"cidr": f"{_address(address)}/{length}"}


def _ip_is(test: Callable[[_Address], bool]) -> Callable[[MarkedMap], bool]:
    return lambda value: test(_address(text_behind(value, "ip")))


def _is_link_local_multicast(address: _Address) -> bool:
    return address in ipaddress.ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")


def _is_global_unicast(address: _Address) -> bool:
    none = (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )
    return not none and str(address) != "255.255.255.255"


def _family(value: MarkedMap) -> int:
    return _address(text_behind(value, "ip")).version


def _contains(value: MarkedMap, inner: str | MarkedMap) -> bool:
    """Whether a network holds an address or another network, each a text or one of our maps."""
    text = inner if isinstance(inner, str) else next(iter(inner.values()))
    outer, other = (
        _network(text_behind(value, "cidr")),
        _network(text) if "/" in text else _address(text),
    )
    if isinstance(other, _Address):
        return other in outer
    return other.version == outer.version and other.subnet_of(outer)  # type: ignore[arg-type]  # of one version


FUNCTIONS: Final[Mapping[str, Sequence[CELFunction]]] = {
    "url": (
        CELFunction("url", _MAP, (_TEXT,), _url, member=False),
        CELFunction("isURL", _BOOL, (_TEXT,), reads(_url), member=False),
        CELFunction("getScheme", _TEXT, (_MAP,), _part(lambda url: url.scheme)),
        CELFunction("getHost", _TEXT, (_MAP,), _part(lambda url: url.netloc.rpartition("@")[2])),
        CELFunction("getHostname", _TEXT, (_MAP,), _part(lambda url: url.hostname or "")),
        CELFunction("getPort", _TEXT, (_MAP,), _part(lambda url: str(url.port or ""))),
        CELFunction(
            "getEscapedPath",
            _TEXT,
            (_MAP,),
            _part(lambda url: urllib.parse.quote(url.path, safe="/%:@!$&'()*+,;=~")),
        ),
        CELFunction(
            "getQuery",
            _MAP,
            (_MAP,),
            lambda value: urllib.parse.parse_qs(
                urllib.parse.urlsplit(text_behind(value, "url")).query, True
            ),
        ),
    ),
    "ip": (
        CELFunction("ip", _MAP, (_TEXT,), _ip, member=False),
        CELFunction(
            "ip", _MAP, (_MAP,), lambda value: _ip(text_behind(value, "cidr").rpartition("/")[0])
        ),
        CELFunction("isIP", _BOOL, (_TEXT,), reads(_ip), member=False),
        CELFunction(
            "ip.isCanonical", _BOOL, (_TEXT,), lambda text: _ip(text)["ip"] == text, member=False
        ),
        CELFunction("family", _INT, (_MAP,), _family),
        CELFunction(
            "isUnspecified", _BOOL, (_MAP,), _ip_is(lambda address: address.is_unspecified)
        ),
        CELFunction("isLoopback", _BOOL, (_MAP,), _ip_is(lambda address: address.is_loopback)),
        CELFunction("isLinkLocalMulticast", _BOOL, (_MAP,), _ip_is(_is_link_local_multicast)),
        CELFunction(
            "isLinkLocalUnicast", _BOOL, (_MAP,), _ip_is(lambda address: address.is_link_local)
        ),
        CELFunction(
            "isGlobalUnicast",
            _BOOL,
            (_MAP,),
            _ip_is(_is_global_unicast),
        ),
        CELFunction("cidr", _MAP, (_TEXT,), _cidr, member=False),
        CELFunction("isCIDR", _BOOL, (_TEXT,), reads(_cidr), member=False),
        CELFunction("containsIP", _BOOL, (_MAP, _TEXT), _contains),
        CELFunction("containsIP", _BOOL, (_MAP, _MAP), _contains),
        CELFunction("containsCIDR", _BOOL, (_MAP, _TEXT), _contains),
        CELFunction("containsCIDR", _BOOL, (_MAP, _MAP), _contains),
        CELFunction(
            "masked",
            _MAP,
            (_MAP,),
            lambda value: {"cidr": str(_network(text_behind(value, "cidr")))},
        ),
        CELFunction(
            "prefixLength",
            _INT,
            (_MAP,),
            lambda value: _network(text_behind(value, "cidr")).prefixlen,
        ),
    ),
}
"""By what Kubernetes calls the libraries."""
