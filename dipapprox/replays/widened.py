"""Wider domains, as a file writes them: by the names of inputs."""

from __future__ import annotations

from collections.abc import Mapping

from dipapprox.errors import UserError
from dipapprox.language.domains import Widening, domain_text
from dipapprox.language.values import read_domain


def check_widened(widened: Mapping[str, str]) -> None:
    """Check that wider domains, by the names of inputs, are domains as they are written.

    Raises:
        ValueError: If one is not.
    """
    for name, text in widened.items():
        try:
            domain = read_domain(text, name)
        except UserError:
            raise ValueError(f".widened.{name:.40}: expected a domain") from None
        if domain_text(domain) != text:
            raise ValueError(f".widened.{name:.40}: expected {domain_text(domain, 8)}")


def widening_of(widened: Mapping[str, str]) -> Widening:
    """Read wider domains."""
    return Widening(named={name: read_domain(text, name) for name, text in widened.items()})
