"""A certificate's fields, its digest included, to the JSON object of its file."""

from __future__ import annotations

import msgspec

from dipapprox.certificates.digest import digest
from dipapprox.certificates.numbers import number_text
from dipapprox.certificates.reading import AnyCertificate
from dipapprox.certificates.statement import Statement

UNSIGNED = f"sha256:{'0' * 64}"
"""The digest of a certificate until it is signed."""


def fields_of(statement: Statement) -> dict[str, object]:
    """Return the JSON object of a certificate, or of a part of one."""
    fields: dict[str, object] = msgspec.to_builtins(statement, enc_hook=number_text)
    return fields


def signed_fields(certificate: AnyCertificate) -> dict[str, object]:
    """Return the JSON object of a certificate, with the digest of what it says at its end."""
    fields = fields_of(certificate)
    del fields["digest"]
    return {**fields, "digest": digest(fields)}
