"""Who is calling: the client's address behind 0..n trusted proxies (HTTP-4)."""

from __future__ import annotations

import ipaddress

from app.web.hx import AnyConnection


def client_address(connection: AnyConnection, trusted_hops: int) -> str:
    """The address of the client, counted from the right of `X-Forwarded-For` over `trusted_hops` proxies.

    What a client wrote into the header itself lies further left and is never used.
    """
    peer = connection.client.host if connection.client else "unknown"
    if trusted_hops == 0:
        return peer
    forwarded = ",".join(connection.headers.getall("x-forwarded-for", []))
    hops = [part.strip() for part in forwarded.split(",") if part.strip()]
    candidate = hops[-trusted_hops] if len(hops) >= trusted_hops else (hops[0] if hops else peer)
    try:
        return str(ipaddress.ip_address(candidate))
    except ValueError:
        return peer
