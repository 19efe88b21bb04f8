"""What Kubernetes' CEL has beyond CEL: quantities, versions, URLs, addresses, lists, sets, regular expressions.

The library takes functions and no types of ours, so a quantity, a version, a URL, an address and a network are maps with one entry,
whose key says which. Two of them are equal as values when they are equal as maps.

Of parameters, ``dyn`` matches nothing while an expression runs, so each kind of argument has an overload. A function of the library
cannot get another overload: ``string`` of an address, ``indexOf`` and ``reverse`` of lists are not here. What returns an optional value
(``first``, ``last``, ``format.named``) and macros (``sortBy``, comprehensions of two variables) cannot be made at all.
"""

from __future__ import annotations

import ipaddress
import itertools
import math
import re
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias

from cel_expr_python import cel

from kubefacts import patterns, quantities

_Value: TypeAlias = Any
"""What the library takes and gives: None, bool, int, float, str, list, dict."""
_Marked: TypeAlias = Mapping[str, str]
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_DYN, _BOOL, _INT, _TEXT, _LIST = cel.Type.DYN, cel.Type.BOOL, cel.Type.INT, cel.Type.STRING, cel.Type.LIST
_MAP = cel.Type.Map(cel.Type.STRING, cel.Type.DYN)


class _Function(NamedTuple):
    """One way to call a function; ``member``: with a dot, on its first parameter."""

    name: str
    result: cel.Type
    parameters: Sequence[cel.Type]
    body: Callable[..., _Value]
    member: bool = True
    cost: Callable[[Iterable[int]], int] = sum
    """Of a call, by the lengths of its arguments."""


class CostMeter:
    """How much the functions of one environment may still do; what the library does by itself it counts itself."""

    MAX_COST: Final = 2_000_000
    SPENT: Final = "operation cancelled: actual cost limit exceeded"

    def __init__(self) -> None:
        self.left = self.MAX_COST

    def counted(self, one: _Function) -> Callable[..., _Value]:
        """A function's body that fails when too much has been done."""

        def body(*arguments: _Value) -> _Value:
            self.left -= 1 + one.cost(len(each) for each in arguments if isinstance(each, str | list))
            if self.left < 0:
                raise ValueError(self.SPENT)
            result = one.body(*arguments)
            self.left -= len(result) if isinstance(result, list | str) else 0
            return result

        return body


def declarations(meter: CostMeter, *, bounded: bool) -> list[cel.FunctionDecl]:
    """For an environment; ``bounded``: with those that stand in for the library's, whose writers are we."""
    found: dict[str, list[cel.Overload]] = {}
    for i, one in enumerate(_FUNCTIONS + _BOUNDED if bounded else _FUNCTIONS):
        kinds = list(one.parameters)
        overload = cel.Overload(f"k8s_{i}", return_type=one.result, parameters=kinds, is_member=one.member, impl=meter.counted(one))
        found.setdefault(one.name, []).append(overload)
    return [cel.FunctionDecl(name, overloads) for name, overloads in found.items()]


def _of(value: _Marked, mark: str) -> str:
    """The text behind one of our maps; a map that is none of them calls nothing."""
    if value.keys() != {mark}:
        raise ValueError("no such overload")
    return str(value[mark])


def _is(read: Callable[[str], object]) -> Callable[[str], bool]:
    def readable(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return readable


# ---- quantities ------------------------------------------------------------------------------------------------------------


def _quantity(text: str) -> _Marked:
    try:
        return {"quantity": str(quantities.exact(text))}
    except quantities.QuantityError as error:
        raise ValueError(error.problem) from error


def _amount(value: _Marked) -> Fraction:
    return Fraction(_of(value, "quantity"))


def _whole(value: _Marked) -> int:
    amount = _amount(value)
    if amount.denominator != 1 or not -(2**63) <= amount < 2**63:
        raise ValueError("cannot convert value to integer")
    return int(amount)


def _plus(sign: int) -> Callable[[_Marked, _Value], _Marked]:
    def total(left: _Marked, right: _Value) -> _Marked:
        return {"quantity": str(_amount(left) + sign * (right if isinstance(right, int) else _amount(right)))}

    return total


# ---- versions --------------------------------------------------------------------------------------------------------------

_SEMVER = re.compile(
    r"(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)"
    r"(-(?P<pre>(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


def _semver(text: str) -> _Marked:
    if not _SEMVER.fullmatch(text):
        raise ValueError("No Major.Minor.Patch elements found" if text.count(".") < 2 else f"{text} is no semantic version")
    return {"semver": text.partition("+")[0]}


def _normal(text: str, normalize: bool) -> str:
    """With ``normalize``: without a v, leading zeros, and with all three numbers."""
    if not normalize:
        return text
    core, mark, rest = re.fullmatch(r"v?([\d.]*)([-+]?)(.*)", text, re.DOTALL).groups()  # type: ignore[union-attr]  # matches any text
    numbers = [part.lstrip("0") or "0" for part in core.split(".")]
    return ".".join([*numbers, "0", "0"][: max(3, len(numbers))]) + mark + rest


def _precedence(value: _Marked) -> tuple[Any, ...]:
    """What versions are ordered by: a release is after its pre-releases, whose numbers are before their words."""
    parts = _SEMVER.fullmatch(_of(value, "semver"))
    if parts is None:  # a map of the object that looks like one of ours
        raise ValueError("no such overload")
    words = tuple((0, int(w), "") if w.isdigit() else (1, 0, w) for w in parts["pre"].split(".")) if parts["pre"] else ()
    return int(parts["major"]), int(parts["minor"]), int(parts["patch"]), not parts["pre"], words


def _compare(left: _Marked, right: _Marked) -> int:
    """-1, 0 or 1, of two quantities or two versions."""
    measure: Callable[[_Marked], Any] = _amount if "quantity" in left else _precedence
    one, other = measure(left), measure(right)
    return int(one > other) - int(one < other)


# ---- URLs, addresses, networks ---------------------------------------------------------------------------------------------


def _url(text: str) -> _Marked:
    parts = urllib.parse.urlsplit(text)
    if not (parts.scheme or text.startswith("/")):
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    _ = parts.port  # is it a number?
    return {"url": text}


def _part(read: Callable[[urllib.parse.SplitResult], str]) -> Callable[[_Marked], str]:
    return lambda value: read(urllib.parse.urlsplit(_of(value, "url")))


def _address(text: str) -> _Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        why = f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}"): unable to parse IP'
        raise ValueError(why) from None
    if isinstance(found, ipaddress.IPv6Address) and (found.scope_id or found.ipv4_mapped):
        raise ValueError(f'IP Address "{text}" with zone value or mapped from IPv4 is not allowed')
    return found


def _network(text: str) -> _Network:
    if not re.search(r"/\d+\Z", text):
        why = f"network address parse error during conversion from string: netip.ParsePrefix(\"{text}\"): no '/'"
        raise ValueError(why)
    return ipaddress.ip_network(text, strict=False)


def _ip(text: str) -> _Marked:
    return {"ip": str(_address(text))}


def _cidr(text: str) -> _Marked:
    _network(text)
    address, _, length = text.rpartition("/")
    return {"cidr": f"{_address(address)}/{length}"}


def _ip_is(test: Callable[[_Address], bool]) -> Callable[[_Marked], bool]:
    return lambda value: test(_address(_of(value, "ip")))


def _is_link_local_multicast(address: _Address) -> bool:
    return address in ipaddress.ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")


def _is_global_unicast(address: _Address) -> bool:
    none = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not none and str(address) != "255.255.255.255"


def _family(value: _Marked) -> int:
    return _address(_of(value, "ip")).version


def _contains(value: _Marked, inner: str | _Marked) -> bool:
    """Whether a network holds an address or another network, each a text or one of our maps."""
    text = inner if isinstance(inner, str) else next(iter(inner.values()))
    outer, other = _network(_of(value, "cidr")), _network(text) if "/" in text else _address(text)
    if isinstance(other, _Address):
        return other in outer
    return other.version == outer.version and other.subnet_of(outer)  # type: ignore[arg-type]  # of one version


# ---- lists and texts -------------------------------------------------------------------------------------------------------

_MAX_RESULT_LENGTH: Final = 1_000_000


def _reduced(name: str, take: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    def result(items: Sequence[Any]) -> Any:
        if not items:
            raise ValueError(f"{name} called on empty list")
        return take(items)

    return result


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = min(text.count(old), limit) if limit >= 0 else text.count(old)
    if len(text) + count * (len(new) - len(old)) > _MAX_RESULT_LENGTH:
        raise ValueError(CostMeter.SPENT)
    return text.replace(old, new, limit)


def _join(items: Sequence[str], between: str = "") -> str:
    if sum(map(len, items)) + len(between) * len(items) > _MAX_RESULT_LENGTH:
        raise ValueError(CostMeter.SPENT)
    return between.join(items)


def _short(items: Sequence[Any]) -> Sequence[Any]:
    """Arguments of ``format``, if all that it may make of them is."""
    if len(str(items)) > _MAX_RESULT_LENGTH:
        raise ValueError(CostMeter.SPENT)
    return items


def _sorted(items: Sequence[Any]) -> bool:
    return all(left <= right for left, right in itertools.pairwise(items))


def _distinct(items: Sequence[Any]) -> list[Any]:
    return [item for i, item in enumerate(items) if item not in items[:i]]


def _flat(items: Iterable[Any], depth: int = 1) -> list[Any]:
    return [leaf for one in items for leaf in (_flat(one, depth - 1) if isinstance(one, list) and depth > 0 else [one])]


def _slice(items: Sequence[Any], start: int, end: int) -> Sequence[Any]:
    if not 0 <= start <= end <= len(items):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _range(count: int) -> list[int]:
    if count > _MAX_RESULT_LENGTH:
        raise ValueError(f"range of {count} is too long")
    return list(range(count))


def _includes(left: Sequence[Any], right: Iterable[Any]) -> bool:
    return all(one in left for one in right)


def _squared(lengths: Iterable[int]) -> int:
    """Everything may be compared with everything."""
    return sum(lengths) ** 2


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    try:
        return [text[start:end] for start, end in itertools.islice(patterns.spans(pattern, text), limit if limit >= 0 else None)]
    except patterns.PatternError as error:
        raise ValueError(f"Illegal regex: {error}") from error


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


_FUNCTIONS = (
    _Function("quantity", _MAP, (_TEXT,), _quantity, member=False),
    _Function("isQuantity", _BOOL, (_TEXT,), _is(_quantity), member=False),
    _Function("isInteger", _BOOL, (_MAP,), lambda value: _amount(value).denominator == 1),
    _Function("asInteger", _INT, (_MAP,), _whole),
    _Function("asApproximateFloat", cel.Type.DOUBLE, (_MAP,), lambda value: float(_amount(value))),
    _Function("add", _MAP, (_MAP, _MAP), _plus(1)),
    _Function("add", _MAP, (_MAP, _INT), _plus(1)),
    _Function("sub", _MAP, (_MAP, _MAP), _plus(-1)),
    _Function("sub", _MAP, (_MAP, _INT), _plus(-1)),
    _Function("compareTo", _INT, (_MAP, _MAP), _compare),
    _Function("isLessThan", _BOOL, (_MAP, _MAP), lambda left, right: _compare(left, right) < 0),
    _Function("isGreaterThan", _BOOL, (_MAP, _MAP), lambda left, right: _compare(left, right) > 0),
    _Function("semver", _MAP, (_TEXT,), _semver, member=False),
    _Function("semver", _MAP, (_TEXT, _BOOL), lambda text, normalize: _semver(_normal(text, normalize)), member=False),
    _Function("isSemver", _BOOL, (_TEXT,), _is(_semver), member=False),
    _Function("isSemver", _BOOL, (_TEXT, _BOOL), lambda text, normalize: _is(_semver)(_normal(text, normalize)), member=False),
    _Function("major", _INT, (_MAP,), lambda value: _precedence(value)[0]),
    _Function("minor", _INT, (_MAP,), lambda value: _precedence(value)[1]),
    _Function("patch", _INT, (_MAP,), lambda value: _precedence(value)[2]),
    _Function("url", _MAP, (_TEXT,), _url, member=False),
    _Function("isURL", _BOOL, (_TEXT,), _is(_url), member=False),
    _Function("getScheme", _TEXT, (_MAP,), _part(lambda url: url.scheme)),
    _Function("getHost", _TEXT, (_MAP,), _part(lambda url: url.netloc.rpartition("@")[2])),
    _Function("getHostname", _TEXT, (_MAP,), _part(lambda url: url.hostname or "")),
    _Function("getPort", _TEXT, (_MAP,), _part(lambda url: str(url.port or ""))),
    _Function("getEscapedPath", _TEXT, (_MAP,), _part(lambda url: urllib.parse.quote(url.path, safe="/%:@!$&'()*+,;=~"))),
    _Function("getQuery", _MAP, (_MAP,), lambda value: urllib.parse.parse_qs(urllib.parse.urlsplit(_of(value, "url")).query, True)),
    _Function("ip", _MAP, (_TEXT,), _ip, member=False),
    _Function("ip", _MAP, (_MAP,), lambda value: _ip(_of(value, "cidr").rpartition("/")[0])),
    _Function("isIP", _BOOL, (_TEXT,), _is(_ip), member=False),
    _Function("ip.isCanonical", _BOOL, (_TEXT,), lambda text: _ip(text)["ip"] == text, member=False),
    _Function("family", _INT, (_MAP,), _family),
    _Function("isUnspecified", _BOOL, (_MAP,), _ip_is(lambda address: address.is_unspecified)),
    _Function("isLoopback", _BOOL, (_MAP,), _ip_is(lambda address: address.is_loopback)),
    _Function("isLinkLocalMulticast", _BOOL, (_MAP,), _ip_is(_is_link_local_multicast)),
    _Function("isLinkLocalUnicast", _BOOL, (_MAP,), _ip_is(lambda address: address.is_link_local)),
    _Function(
        "isGlobalUnicast",
        _BOOL,
        (_MAP,),
        _ip_is(_is_global_unicast),
    ),
    _Function("cidr", _MAP, (_TEXT,), _cidr, member=False),
    _Function("isCIDR", _BOOL, (_TEXT,), _is(_cidr), member=False),
    _Function("containsIP", _BOOL, (_MAP, _TEXT), _contains),
    _Function("containsIP", _BOOL, (_MAP, _MAP), _contains),
    _Function("containsCIDR", _BOOL, (_MAP, _TEXT), _contains),
    _Function("containsCIDR", _BOOL, (_MAP, _MAP), _contains),
    _Function("masked", _MAP, (_MAP,), lambda value: {"cidr": str(_network(_of(value, "cidr")))}),
    _Function("prefixLength", _INT, (_MAP,), lambda value: _network(_of(value, "cidr")).prefixlen),
    _Function("isSorted", _BOOL, (_LIST,), _sorted),
    _Function("sum", _DYN, (_LIST,), sum),
    _Function("min", _DYN, (_LIST,), _reduced("min", min)),
    _Function("max", _DYN, (_LIST,), _reduced("max", max)),
    _Function("sort", _LIST, (_LIST,), sorted),
    _Function("distinct", _LIST, (_LIST,), _distinct, cost=_squared),
    _Function("flatten", _LIST, (_LIST,), _flat),
    _Function("flatten", _LIST, (_LIST, _INT), _flat),
    _Function("slice", _LIST, (_LIST, _INT, _INT), _slice),
    _Function("lists.range", _LIST, (_INT,), _range, member=False),
    _Function("sets.contains", _BOOL, (_LIST, _LIST), _includes, False, math.prod),
    _Function("sets.equivalent", _BOOL, (_LIST, _LIST), lambda a, b: _includes(a, b) and _includes(b, a), False, math.prod),
    _Function("sets.intersects", _BOOL, (_LIST, _LIST), lambda a, b: any(one in b for one in a), False, math.prod),
    _Function("find", _TEXT, (_TEXT, _TEXT), _find, cost=math.prod),
    _Function("findAll", _LIST, (_TEXT, _TEXT), _find_all, cost=_squared),
    _Function("findAll", _LIST, (_TEXT, _TEXT, _INT), _find_all, cost=_squared),
)
_BOUNDED = (
    _Function("boundedReplace", _TEXT, (_TEXT, _TEXT, _TEXT), _replace),
    _Function("boundedReplace", _TEXT, (_TEXT, _TEXT, _TEXT, _INT), _replace),
    _Function("boundedJoin", _TEXT, (_LIST,), _join),
    _Function("boundedJoin", _TEXT, (_LIST, _TEXT), _join),
    _Function("boundedArguments", _LIST, (_LIST,), _short, member=False),
)
CALL: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(re.escape(name) for name in {one.name for one in _FUNCTIONS} | {'replace', 'join', 'format'}))})\s*\("
)
"""A call of a function that is made here, in the text of an expression."""
