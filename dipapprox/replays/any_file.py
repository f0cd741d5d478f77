"""A certificate of any kind, judged: the text of a file, or its JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.limits import Limits
from dipapprox.replays.json_texts import read_json, text_of
from dipapprox.replays.result import FORMAT, PIPELINE_FORMAT, Replay

if TYPE_CHECKING:
    from dipapprox.replays import check as proofs
    from dipapprox.replays import pipelines
else:
    proofs = Deferred("dipapprox.replays.check")
    pipelines = Deferred("dipapprox.replays.pipelines")

OLD = (
    "dipapprox certificate",
    "dipapprox budget certificate",
    "dipapprox composition certificate",
    "dipapprox decision certificate",
    "dipapprox real-input certificate",
    "dipapprox service certificate",
)
"""Formats before proofs."""


def check(
    certificate: str | Mapping[str, object],
    limits: Limits | None = None,
    *,
    explained: bool = False,
) -> Replay:
    """Check a certificate: replay its proofs, and compare what its texts mean.

    Args:
        certificate: The text of the file, or its JSON object.
        limits: Budgets; when one is reached the answer is "not confirmed".
        explained: Whether people see every step of a proof.

    Raises:
        UserError: If it is no certificate, of another version, or malformed.
    """
    if not isinstance(certificate, str | Mapping):
        hint = "check(path.read_text()) checks a file"
        message = f"certificate must be a text or an object, got {type(certificate).__name__}"
        raise UserError(message, hint)
    limits = Limits() if limits is None else limits
    if not isinstance(limits, Limits):
        raise UserError(f"limits must be Limits, got {type(limits).__name__}")
    text = certificate if isinstance(certificate, str) else text_of(certificate)
    return check_content(read_json(text), limits, explained)


def check_content(content: object, limits: Limits, explained: bool) -> Replay:
    """Judge what was read as JSON; see `check`."""
    known = f'"{FORMAT}" or "{PIPELINE_FORMAT}"'
    if not isinstance(content, dict):
        raise UserError("this is not a certificate of dipapprox", f'"format" is {known}')
    name = content.get("format")
    if name == FORMAT:
        return proofs.check_proof(content, limits, explained)
    if name == PIPELINE_FORMAT:
        return pipelines.check_pipeline(content, limits, explained)
    if name in OLD:
        raise UserError(
            f"this is a '{name}', written by an older dipapprox",
            "certificates are proofs now: write it again",
        )
    raise UserError("this is not a certificate of dipapprox", f'"format" is {known}')
