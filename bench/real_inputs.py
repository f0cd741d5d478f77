"""Verdicts about all real inputs, and checks of their certificates: what both take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from bench.rows import Row, Table, at_most, taken
from bench.timing import NoAnswer, Patience, side_by_side
from dipapprox.language.core import Program
from dipapprox.language.load import program_from, read_source
from dipapprox.limits import Limits, limited
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.description import text_of
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.replays.check import check
from dipapprox.replays.files import certify_answer
from dipapprox.replays.result import Outcome

VERIFIED, CHECKED = "verify", "check"
_MOST_TIMES = 5
"""A check follows every input by itself, and knows fewer lemmas."""

_DELTA = Fraction(1, 10**5)


@dataclass(frozen=True, slots=True)
class RealCase:
    """A true claim about all real inputs.

    Attributes:
        file: In the folder of programs, without ".dpg".
        eps: Where it runs.
        eps_prv: What is claimed.
        delta: The same.
        parameters: Of the program.
    """

    file: str
    eps: Fraction
    eps_prv: Fraction
    delta: Fraction = _DELTA
    parameters: Mapping[str, Fraction] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """For people."""
        chosen = "".join(f", {name} = {value}" for name, value in self.parameters.items())
        return f"{self.file}{chosen}, eps_prv = {self.eps_prv}"


def real_cases() -> tuple[RealCase, ...]:
    """Return what is measured: claims with room, and next to the least eps_prv."""
    half = Fraction(1, 2)
    return (
        RealCase("reals/real_svt_gauss", half, Fraction(3, 10)),
        RealCase("reals/real_svt_gauss", half, Fraction("0.298952")),
        RealCase("reals/real_svt_gauss", half, Fraction("0.445"), parameters={"N": Fraction(5)}),
        RealCase("reals/real_svt_laplace", half, half, Fraction(0)),
        RealCase("reals/real_svt_laplace", half, Fraction("0.293")),
        RealCase(
            "reals/real_noisy_max_gauss", half, Fraction("0.26"), parameters={"N": Fraction(4)}
        ),
    )


def measure_real(case: RealCase, programs: Path, patience: Patience) -> Row:
    """Measure a verdict, and the check of its certificate."""
    source = read_source(programs / f"{case.file}.dpg", case.parameters)
    program = program_from(source, reals=True)
    verdict = _verdict(program, case, Limits())
    certificate = certify_answer(_setting(program), text_of(source), verdict).to_json()

    def prove(cap: float) -> None:
        found = _verdict(program, case, Limits(seconds=cap))
        if found.answer is not Answer.DP:
            raise NoAnswer(found.reason or found.answer.value)

    def examine(cap: float) -> None:
        result = check(certificate, Limits(seconds=cap))
        if result.outcome is not Outcome.CONFIRMED:
            raise NoAnswer(result.reason or result.outcome.value)

    timings = side_by_side({VERIFIED: prove, CHECKED: examine}, patience)
    return Row(case, {"timings": timings})


def _verdict(program: Program, case: RealCase, limits: Limits | None = None) -> Verdict:
    with limited(limits or Limits()):
        return verify(_setting(program), Claim(case.eps, case.delta, case.eps_prv))


def _setting(program: Program) -> Setting:
    return Setting(program, AllPairs(), Options())


REAL_INPUTS = Table(
    "real inputs",
    """## All real inputs

A verdict about infinitely many pairs, and the check of its certificate, a proof that the kernel
replays: "times" compares the two.""",
    (
        ("claim", lambda row: row.name),
        *taken(VERIFIED, CHECKED),
        ("times", lambda row: row.times(CHECKED, VERIFIED)),
    ),
    lambda rows: [
        figure
        for row in rows
        for figure in at_most(
            row.name,
            row.times(CHECKED, VERIFIED),
            _MOST_TIMES,
            f"checking at most {_MOST_TIMES} times as long as proving",
        )
    ],
)
