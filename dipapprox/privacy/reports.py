"""`answer.report("out.html")`: the page for a reviewer, from Python.

answer, certificate  →  `privacy.page`  →  a file that was not there before

A certificate brings the text of the program along, and `certify` has made sure that it is the text
of what the answer is about; without one the page has the answer and its pictures alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Protocol

from dipapprox.errors import UserError, shorten
from dipapprox.language.load import DPG
from dipapprox.privacy.charts import Chart
from dipapprox.privacy.description import Description
from dipapprox.privacy.page import Listing, page
from dipapprox.privacy.page import WrittenCertificate as Shown
from dipapprox.version import VERSION

SUFFIX = ".html"

_WORDS = ("verdict", "params")
_NUMBERS = ("eps", "eps_prv", "delta", "budget")
"""What a certificate and its answer both say; the latter are in the claim."""


class Signed(Protocol):
    """A certificate: its fields, digest included."""

    @property
    def fields(self) -> Mapping[str, object]:
        """The JSON object."""


def write_report(
    description: Description,
    charts: Sequence[Chart],
    said: Mapping[str, object],
    path: Path,
    certificate: Signed | None,
) -> None:
    """Write an answer, with the fields `said` of its JSON object, as a page; see `Result.report`.

    Raises:
        UserError: If the name does not end in .html, the file is there already or cannot be
            written, or the certificate is none, or not of this answer.
    """
    if path.suffix.lower() != SUFFIX:
        raise UserError(f"cannot write '{path.name}'", f"the name must end in {SUFFIX}")
    listings, signed = _of_certificate(said, certificate)
    text = page(description, charts, listings, signed, VERSION)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"'{path}' exists already", "choose another name") from None
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}") from None


def _of_certificate(
    said: Mapping[str, object], certificate: Signed | None
) -> tuple[tuple[Listing, ...], Shown | None]:
    """Return the program in a certificate, and its digest.

    Raises:
        UserError: If it is none, or that of another answer.
    """
    if certificate is None:
        return (), None
    if not isinstance(getattr(certificate, "fields", None), Mapping):
        given = shorten(repr(certificate))
        hint = "dipapprox.certify(program, text, verdict) makes one"
        raise UserError(f"certificate must be a Certificate, got {given}", hint)
    fields = certificate.fields
    program, claim = fields.get("program"), fields.get("claim")
    if not isinstance(program, Mapping):
        raise UserError("certificate: it is about several programs", "leave it out")
    numbers = claim if isinstance(claim, Mapping) else {}
    stated = {"program": program["name"], **{name: fields.get(name) for name in _WORDS}}
    same = all(value in (None, said.get(name, value)) for name, value in stated.items())
    if not same or any(_differ(numbers.get(name), said.get(name)) for name in _NUMBERS):
        raise UserError("certificate: it is the certificate of another answer")
    language = str(program.get("language", DPG))
    listing = Listing(str(program["name"]), language, str(program["text"]))
    return (listing,), Shown(None, str(fields["digest"]))


def _differ(one: object, other: object) -> bool:
    """Whether two texts are different numbers; formulas may be written in several ways."""
    try:
        return Fraction(str(one)) != Fraction(str(other))
    except ValueError:
        return False
