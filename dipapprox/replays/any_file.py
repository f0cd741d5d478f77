"""A certificate of any kind, judged: the text of a file, or its JSON object.

No field may be there twice, and no floating-point number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from dipapprox.deferred import Deferred
from dipapprox.errors import UserError, shorten
from dipapprox.limits import Limits
from dipapprox.replays.result import FORMAT, PIPELINE_FORMAT, Replay

_LARGEST_FILE = 2**28


def read_json(text: str) -> object:
    if len(text) > _LARGEST_FILE:
        raise UserError(f"the certificate is larger than {_LARGEST_FILE >> 20} MiB")
    try:
        content: object = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise UserError(
            f"the certificate is not JSON: {error.msg.lower()} at {error.lineno}:{error.colno}",
            "is the file complete?",
        ) from None
    except (RecursionError, ValueError):
        raise UserError("the certificate is not JSON that can be read") from None
    return content


def text_of(content: Mapping[str, object]) -> str:
    try:
        return json.dumps(dict(content))
    except (TypeError, ValueError, RecursionError):
        raise UserError("the certificate is not JSON that can be read") from None


def _without_repetitions(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise UserError(f"the certificate is malformed: the field {shorten(twice)!a} occurs twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise UserError(f"the certificate is malformed: {text[:40]} is not a number that it may have")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repetitions, parse_float=_no_number, parse_constant=_no_number
)


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
