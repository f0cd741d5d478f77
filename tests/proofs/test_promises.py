"""What the headers of the shipped programs say of `prove`.

# prove: DP, least budget 1/2 for real inputs        at the values that its parameters have
# prove: DP, between 1/2 and 1 for all N
# prove: Not_DP (LP) for all N
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dipapprox
from dipapprox import Answer, RealProof, SourceError, StreamProof, UserError

PROGRAMS = Path(__file__).parent.parent.parent / "programs"
ORDINARY = sorted(
    path for folder in (".", "literature", "dipc") for path in (PROGRAMS / folder).glob("*.dpg")
)

_PROMISE = re.compile(r"^# prove: (.*) for (?:real inputs|all (\w+))$", re.MULTILINE)


def said(proof: RealProof | StreamProof) -> str:
    if proof.answer is Answer.NOT_DP:
        codes = proof.structures
        return f"Not_DP ({codes[0]})" if codes else "Not_DP"
    if proof.is_exact:
        return f"DP, least budget {proof.upper}"
    return f"DP, between {proof.lower} and {proof.upper}"


@pytest.mark.parametrize("path", ORDINARY, ids=lambda path: path.stem)
def test_programs_keep_what_their_headers_promise(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    promises = dict[str | None, str]()
    for promise, parameter in _PROMISE.findall(text.split("\n\n")[0]):
        promises[parameter or None] = promise
    assert len(promises) == text.count("# prove:")
    if not promises:
        return
    found = dict[str | None, str]()
    for parameter in (None, "N"):
        try:
            program = dipapprox.parse(text, for_all=parameter)
            proof = dipapprox.prove(program, reals=parameter is None)
        except (SourceError, UserError):
            continue
        assert isinstance(proof, RealProof | StreamProof)
        if proof.answer is not Answer.UNKNOWN:
            found[parameter] = said(proof)
    assert found == promises
