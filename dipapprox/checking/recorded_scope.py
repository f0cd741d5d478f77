"""What a certificate says it is about: wider domains, and the scope of its verdict in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dipapprox.checking.json_values import read_text, wrong
from dipapprox.errors import UserError
from dipapprox.language.domains import Domain, Widening, domain_text
from dipapprox.language.widening import read_domain


@dataclass(frozen=True, slots=True)
class RecordedScope:
    """What a certificate says it is about, in words."""

    text: str
    caveat: str | None


def read_widened(item: object) -> Widening:
    """Read the wider domains of a program's inputs."""
    if not isinstance(item, dict):
        wrong("widened", "an object")
    return Widening(
        named={
            read_text(name, "a name in widened"): _domain(text, f"widened.{name}")
            for name, text in item.items()
        }
    )


def read_scope(top: Mapping[str, object]) -> RecordedScope:
    """Read what a certificate says it is about."""
    caveat = None if top["caveat"] is None else read_text(top["caveat"], "caveat")
    return RecordedScope(read_text(top["scope"], "scope"), caveat)


def _domain(item: object, where: str) -> Domain:
    text = read_text(item, where)
    try:
        domain = read_domain(text, where)
    except UserError:
        return wrong(where, "a domain")
    return domain if domain_text(domain) == text else wrong(where, domain_text(domain, 8))
