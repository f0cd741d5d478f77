"""Claims for tests."""

from dipapprox.privacy.intervals.verdict import FormulaClaim
from dipapprox.questions.arguments import spelled_as_keyword
from dipapprox.questions.question import read
from dipapprox.questions.verify import Verify


def formula_claim(eps_prv: str | None, delta: str) -> FormulaClaim:
    given = {"eps": 1, "eps_prv": eps_prv, "delta": delta}
    return read(Verify, given, spelled_as_keyword).formulas()
