"""The files of commands with --certificate: written whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from dipapprox.cli.output import write_whole
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.privacy.certificate import Certificate

FLAG = "--certificate"

Answered = TypeVar("Answered")


def proved(found: Answered, prove: Callable[[], Answered]) -> Answered:
    """Return an answer with a proof that the kernel has replayed, or that `prove` raises why not:
    then say so."""
    with EarlyEnd() as end:
        try:
            return prove()
        except NoCertificate as none:
            print(none.message, file=sys.stderr)
    if end.reason is not None:
        print(f"no certificate: {end.reason}", file=sys.stderr)
    return found


def write(path: Path, record: Callable[[], Certificate]) -> str | None:
    """Write the certificate of an answer that has a proof; return its digest, None if there is
    none."""
    try:
        certificate = record()
    except NoCertificate as missing:
        print(missing.message, file=sys.stderr)
        return None
    write_whole(path, certificate.to_json(), FLAG)
    return str(certificate.fields["digest"])
