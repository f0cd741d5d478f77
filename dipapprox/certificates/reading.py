"""The text of a file to a `Certificate`: everything checked that needs no computation.

    text -> JSON, no field twice, no floating-point number -> digest -> types

What is not a certificate of this version is a `UserError` (exit status 2) that says where:
"$.evidence.inputs[3].input[0]: …". Whether a well-formed one is true is for `checking` to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from dipapprox.certificates import (
    budgets,
    compositions,
    real_inputs,
    services,
    verdicts,
)
from dipapprox.certificates.budgets import CertificateAgainstBudget, CertificateOfBudget
from dipapprox.certificates.compositions import (
    CertificateAgainstComposition,
    CertificateOfComposition,
)
from dipapprox.certificates.digest import digest
from dipapprox.certificates.json_texts import read_json
from dipapprox.certificates.messages import complaint
from dipapprox.certificates.numbers import number_reader
from dipapprox.certificates.real_inputs import (
    CertificateAgainstRealInputs,
    CertificateOfRealInputs,
)
from dipapprox.certificates.services import CertificateAgainstService, CertificateOfService
from dipapprox.certificates.verdicts import CertificateOfDP, CertificateOfNotDP
from dipapprox.errors import UserError

OfProgram = CertificateOfDP | CertificateOfNotDP
OfBudget = CertificateOfBudget | CertificateAgainstBudget
OfService = CertificateOfService | CertificateAgainstService
OfComposition = CertificateOfComposition | CertificateAgainstComposition
OfRealInputs = CertificateOfRealInputs | CertificateAgainstRealInputs
AnyCertificate = OfProgram | OfBudget | OfRealInputs | OfService | OfComposition

KINDS: dict[str, dict[str, type[AnyCertificate]]] = {
    verdicts.FORMAT: {"DP": CertificateOfDP, "Not_DP": CertificateOfNotDP},
    budgets.FORMAT: {"DP": CertificateOfBudget, "Not_DP": CertificateAgainstBudget},
    real_inputs.FORMAT: {"DP": CertificateOfRealInputs, "Not_DP": CertificateAgainstRealInputs},
    services.FORMAT: {"DP": CertificateOfService, "Not_DP": CertificateAgainstService},
    compositions.FORMAT: {"DP": CertificateOfComposition, "Not_DP": CertificateAgainstComposition},
}
"""What a file's "format" and "verdict" stand for."""

_VERSIONS = {
    kind.FORMAT: kind.VERSION for kind in (verdicts, budgets, real_inputs, services, compositions)
}

T = TypeVar("T")


def read_certificate(certificate: str | Mapping[str, object]) -> tuple[AnyCertificate, str]:
    """Read a certificate, and return the digest that it should have with it.

    Args:
        certificate: The text of the file, or its JSON object.

    Raises:
        UserError: If it is no certificate, of another version, or malformed.
    """
    content = read_json(certificate if isinstance(certificate, str) else _text(certificate))
    kinds = KINDS.get(str(content.get("format"))) if isinstance(content, dict) else None
    if kinds is None:
        known = " or ".join(f'"{name}"' for name in KINDS)
        raise UserError("this is not a certificate of dipapprox", f'"format" is {known}')
    assert isinstance(content, dict)
    version, known_version = content.get("version"), _VERSIONS[content["format"]]
    if version != known_version or isinstance(version, bool):
        stated = ascii(version) if isinstance(version, int | str) else "of another kind"
        raise UserError(
            f"the certificate has format version {stated:.40}",
            f"this dipapprox reads version {known_version}",
        )
    verdict = content.get("verdict")
    kind = kinds.get(verdict) if isinstance(verdict, str) else None
    if kind is None:
        words = " or ".join(f'"{word}"' for word in kinds)
        raise UserError(f"the certificate is malformed: $.verdict: expected {words}")
    try:
        found = digest(content)
    except UnicodeEncodeError:
        raise UserError("the certificate is malformed: a text is not Unicode") from None
    except RecursionError:
        raise UserError("the certificate is not JSON that can be read") from None
    return convert(content, kind), found


def convert(content: object, kind: type[T]) -> T:
    """Read a part of a certificate from the values of its JSON.

    Raises:
        UserError: If it is malformed.
    """
    try:
        return msgspec.convert(content, kind, dec_hook=number_reader())
    except msgspec.ValidationError as error:
        raise UserError(f"the certificate is malformed: {complaint(error)}") from None


def _text(content: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(content))
    except (TypeError, ValueError, RecursionError):
        raise UserError("the certificate is not JSON that can be read") from None
