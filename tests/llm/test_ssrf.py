"""Only public addresses are dialled (SEC-2, D-19)."""

from __future__ import annotations

import json
from ipaddress import IPv6Address, IPv6Network, ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.addresses import is_loopback, is_public, literal
from app.llm.ssrf import check_base_url

REFUSED_URLS = {
    "loopback": ["https://127.0.0.1/v1", "https://127.9.9.9", "https://0.0.0.0", "https://[::1]/", "https://[::]/"],
    "loopback by name": ["https://localhost/v1", "https://LOCALHOST./v1", "https://a.localhost", "https://x.local"],
    "short, octal, hexadecimal and decimal": [
        "https://127.1", "https://0x7f.1", "https://0177.0.0.1", "https://0x7f000001", "https://2130706433",
        "https://017700000001", "https://127.0.0.1.", "https://1.2.3.4.5", "https://256.1.1.1", "https://0x",
    ],
    "unicode forms": ["https://127。0。0。1", "https://①②⑦.⓪.⓪.①", "https://loc­alhost", "https://１２７.0.0.1"],
    "embedded IPv4": [
        "https://[::ffff:127.0.0.1]", "https://[::ffff:a9fe:a9fe]", "https://[::127.0.0.1]", "https://[64:ff9b::a00:1]",
        "https://[64:ff9b:1::7f00:1]", "https://[2002:7f00:1::]", "https://[2001:0:7f00:1::]",
    ],
    "private": ["https://10.0.0.1", "https://172.31.255.255", "https://192.168.1.1", "https://[fd00::1]", "https://[fec0::1]"],
    "link local": ["https://169.254.1.1", "https://[fe80::1]", "https://[fe80::1%25lo]", "https://[fe80::1%lo]"],
    "carrier grade NAT": ["https://100.64.0.1", "https://100.127.255.254"],
    "cloud metadata": [
        "https://169.254.169.254", "https://100.100.100.200", "https://168.63.129.16", "https://192.0.0.192",
        "https://[fd00:ec2::254]", "https://metadata.google.internal",
    ],
    "documentation and benchmarks": [
        "https://192.0.2.1", "https://198.51.100.1", "https://203.0.113.1", "https://198.18.0.1", "https://[2001:db8::1]",
        "https://[3fff::1]",
    ],
    "multicast and reserved": [
        "https://224.0.0.1", "https://240.0.0.1", "https://255.255.255.255", "https://192.88.99.1", "https://[ff02::1]",
    ],
    "scheme": ["http://api.example.com/v1", "file:///etc/passwd", "//api.example.com", "ftp://api.example.com",
               "api.example.com"],
    "syntax": [
        "", "https://", "https:127.0.0.1/", "https://api.example.com:0/", "https://api.example.com:99999/",
        "https://a b.com",
        "https://a.com\\@b.com", "https://a.com/\n", "https://.", "https://[::1", "https://" + "a" * 3000,
    ],
    "user, query, fragment": [
        "https://user:pw@api.example.com", "https://api.example.com@127.0.0.1/", "https://api.example.com/?a=1",
        "https://api.example.com/#x", "https://127.0.0.1%00.example.com/", "https://127.0.0.1%2f.example.com/",
    ],
}  # fmt: skip
ACCEPTED_URLS = [
    "https://api.example.com/v1", "https://api.example.com.:8443/v1", "https://[2606:4700:4700::1111]/v1", "https://8.8.8.8",
    "https://bücher.example/v1", "https://134744072",
]  # fmt: skip
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "own" / "ssrf_vectors.jsonl"


def corpus(key: str) -> list[dict[str, Any]]:
    """The shared vectors that hold `key`, where they lie beside the project."""
    lines = CORPUS.read_text().splitlines() if CORPUS.exists() else []
    return [vector for vector in map(json.loads, lines) if key in vector]


BY_TEXT = [
    *({"url": url, "expect": "reject"} for urls in REFUSED_URLS.values() for url in urls),
    *({"url": url, "expect": "accept"} for url in ACCEPTED_URLS),
    *(vector for vector in corpus("url") if "resolver_returns" not in vector),
]


@pytest.mark.parametrize("vector", BY_TEXT, ids=lambda vector: repr(vector["url"][:60]))
def test_a_base_url_is_judged_at_boot(vector: dict[str, str]) -> None:
    """SEC-2, D-19: every class of spelling."""
    if vector["expect"] == "accept":
        check_base_url(vector["url"], allow_local=False)
        return
    with pytest.raises(ValueError, match=r"\AAI_BASE_URL: [^\n]+\Z") as caught:
        check_base_url(vector["url"], allow_local=False)
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:11434/v1", "http://localhost:8000/v1", "http://[::1]:1/v1", "https://127.1/"]
)
def test_a_local_provider_is_admitted_only_when_allowed(url: str) -> None:
    """D-19."""
    check_base_url(url, allow_local=True)
    with pytest.raises(ValueError, match="AI_BASE_URL"):
        check_base_url(url, allow_local=False)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/v1", "http://api.example.com/v1", "https://192.168.0.1", "https://0.0.0.0"]
)
def test_allowing_a_local_provider_admits_loopback_and_nothing_else(url: str) -> None:
    """D-19."""
    with pytest.raises(ValueError, match="AI_BASE_URL"):
        check_base_url(url, allow_local=True)


@given(st.ip_addresses(v=4))
def test_an_embedded_address_is_never_more_public_than_itself(address: Any) -> None:
    """D-19: v4-mapped and NAT64 say the same as the plain form; 6to4, Teredo and compatible forms are never public."""
    number = int(address)
    mapped, nat64 = ip_address(f"::ffff:{address}"), ip_address(int(ip_address("64:ff9b::")) + number)
    assert is_public(mapped) == is_public(nat64) == is_public(address)
    assert is_loopback(mapped) == is_loopback(address)
    for carrier in (
        ip_address(number),
        ip_address((0x2002 << 112) + (number << 80)),
        ip_address((0x20010000 << 96) + number),
    ):
        assert carrier.version == 4 or not is_public(carrier)


@given(st.ip_addresses(v=4))
def test_every_spelling_of_an_address_is_the_same_address(address: Any) -> None:
    """D-19."""
    number, (a, b, c, d) = int(address), address.packed
    spellings = [
        str(number),
        hex(number),
        f"0{number:o}",
        f"{a}.{b}.{c * 256 + d}",
        f"{a:#x}.0{b:o}.{c}.{d}",
        f"{address}.",
    ]
    assert {literal(spelling) for spelling in spellings} == {address}


@given(st.ip_addresses())
def test_what_python_calls_private_is_never_public_here(address: Any) -> None:
    """D-19: the list here is stricter than the standard library's, never laxer."""
    embeds = isinstance(address, IPv6Address) and (address in IPv6Network("64:ff9b::/96") or address.ipv4_mapped)
    assert not is_public(address) or address.is_global or embeds
