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


def certified(
    found: Answered,
    path: Path,
    prove: Callable[[], Answered],
    record: Callable[[Answered], Certificate],
) -> tuple[Answered, str | None]:
    """Return an answer with a proof that the kernel has replayed, and the digest of the file that
    is written then; None if there is none, which is said."""
    with EarlyEnd() as end:
        try:
            found = prove()
            certificate = record(found)
        except NoCertificate as none:
            print(none.message, file=sys.stderr)
        else:
            write_whole(path, certificate.to_json(), FLAG)
            return found, str(certificate.fields["digest"])
    if end.reason is not None:
        print(f"no certificate: {end.reason}", file=sys.stderr)
    return found, None
