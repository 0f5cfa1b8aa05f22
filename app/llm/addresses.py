"""Which IP addresses are public (D-19). `ipaddress.is_global` alone lets through a dozen that are not.

Sources: the IANA special-purpose registries for IPv4 and IPv6, RFC 6052 and RFC 8215 (NAT64), and the addresses at
which clouds keep their metadata and host services.
"""

from __future__ import annotations

import re
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

_PRIVATE_V4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # Azure's host service stands in public space
    )
)  # fmt: skip
_UNICAST_V6 = IPv6Network("2000::/3")
_PRIVATE_V6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, with Teredo (2001::/32), which carries an IPv4 address
        "2001:db8::/32",
        "2002::/16",  # 6to4, which carries an IPv4 address; no provider is reached by it
        "3fff::/20",
    )
)
_NAT64 = IPv6Network("64:ff9b::/96")
_MAPPED_LOOPBACK = IPv4Network("127.0.0.0/8")
_NUMERIC_LABEL = re.compile(r"(?:[0-9]+|0[xX][0-9a-fA-F]*)\Z")


def is_public(address: Address) -> bool:
    """Whether `address`, or the IPv4 address that it embeds, is one of the open internet."""
    inner = _embedded(address)
    if isinstance(inner, IPv4Address):
        return not any(inner in block for block in _PRIVATE_V4)
    return inner in _UNICAST_V6 and inner.scope_id is None and not any(inner in block for block in _PRIVATE_V6)


def is_loopback(address: Address) -> bool:
    """Whether `address` is this machine: 127.0.0.0/8 (plain or v4-mapped) or ::1."""
    inner = address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
    return inner in _MAPPED_LOOPBACK if isinstance(inner, IPv4Address) else inner == IPv6Address("::1")


def literal(host: str) -> Address | None:
    """The address that `host` spells, in any form a resolver takes (`0x7f.1`, `0177.0.0.1`, `2130706433`), or None
    for a name. Raises `ValueError` for a host that ends in a number and is no address.
    """
    bare = host.strip("[]").rstrip(".")
    try:
        return ip_address(bare)
    except ValueError:
        if not _NUMERIC_LABEL.match(bare.rsplit(".", 1)[-1]):
            return None
    try:
        return IPv4Address(socket.inet_aton(bare))
    except OSError:
        raise ValueError("ends in a number but is no IPv4 address") from None


def _embedded(address: Address) -> Address:
    if not isinstance(address, IPv6Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address
