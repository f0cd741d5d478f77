"""Verdicts at one eps: what finding one, writing its proof down and replaying that take.

Everything begins with a program that has been read. Found: `verify`, without a proof. Written: the
whole file, as text. Replayed: by the kernel, from that text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from bench.cases import DELTA, EPSILON, single_pair
from bench.rows import Column, Figure, Row, Rows, Table, at_most, largest_file, of, proving, taken
from bench.timing import NoAnswer, Outcome, Patience, Run, Timing, ratio, side_by_side
from dipapprox.data_classes import replace
from dipapprox.kernel.errors import asking
from dipapprox.kernel.replay import replay
from dipapprox.language.core import Program
from dipapprox.language.load import program_from, read_source
from dipapprox.limits import Limits, check_limits, limited
from dipapprox.pairs.selections import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.proof_steps.verdicts import goal_of, proved
from dipapprox.proof_steps.verdicts import written as written_proof
from dipapprox.replays.files import certify_answer

FOUND, WRITTEN, REPLAYED = "verify", "write", "replay"


@dataclass(frozen=True, slots=True)
class ProofCase:
    """A claim, with its answer.

    Attributes:
        file: In the folder of programs, without ".dpg".
        claim: What is claimed, for people.
        eps_prv: What is claimed.
        delta: What is claimed; if None, the largest delta of all pairs, and `room`.
        room: Added to the largest delta; below 0 the claim is false.
        parameters: Of the program.
        single: Only the papers' pair, in both orders.
    """

    file: str
    claim: str
    eps_prv: Fraction = EPSILON
    delta: Fraction | None = DELTA
    room: Fraction = Fraction(0)
    parameters: Mapping[str, Fraction] = field(default_factory=dict)
    single: bool = False

    @property
    def name(self) -> str:
        """Unique, for tables and records."""
        chosen = "".join(f", {name} = {value}" for name, value in self.parameters.items())
        pair = ", one pair" if self.single else ""
        return f"{self.file}{chosen}{pair}, {self.claim}"

    @property
    def answer(self) -> Answer:
        """What `verify` has to say."""
        return Answer.NOT_DP if self.room < 0 else Answer.DP


_HAIR = Fraction(1, 10**9)
_ROOM, _INSIDE, _OUTSIDE, _ATTAINED = "with room", "10⁻⁹ inside", "10⁻⁹ outside", "attained"


def _parameters(**values: int) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in values.items()}


def _inside(file: str, **values: int) -> ProofCase:
    return ProofCase(file, _INSIDE, EPSILON / 4, None, _HAIR, _parameters(**values))


def _outside(file: str, **values: int) -> ProofCase:
    return ProofCase(file, _OUTSIDE, EPSILON / 4, None, -_HAIR, _parameters(**values))


def _attained(file: str, eps_prv: Fraction = EPSILON, **values: int) -> ProofCase:
    return ProofCase(file, _ATTAINED, eps_prv, Fraction(0), parameters=_parameters(**values))


def _with_room(file: str, single: bool = False, **values: int) -> ProofCase:
    return ProofCase(file, _ROOM, parameters=_parameters(**values), single=single)


def proof_cases() -> tuple[ProofCase, ...]:
    """Return what is measured in one process: claims with room, hardly true, attained and false."""
    return (
        _with_room("svt_gauss", N=2),
        _with_room("svt_gauss", N=5),
        _inside("svt_gauss", N=5),
        _outside("svt_gauss", N=5),
        _with_room("svt_gauss", single=True, N=100),
        _with_room("svt_gauss", single=True, N=1000),
        _attained("svt_laplace", N=3),
        _inside("svt_laplace", N=5),
        _inside("noisy_max_gauss", N=4),
        _outside("noisy_max_laplace", N=4),
        _with_room("k_min_max_gauss", N=4),
        _with_room("m_range_gauss", N=2),
        _inside("svt_discrete_gauss", N=4),
        _attained("geometric_mechanism", n=3),
        _outside("geometric_mechanism", n=10),
        _attained("exponential_mechanism", N=3),
        _attained("dipc/rand1", N=3),
        ProofCase("literature/median", _ROOM),
    )


def real_cases() -> tuple[ProofCase, ...]:
    """Return claims about all real inputs: with room, and next to the least eps_prv."""
    rare, five, four = Fraction(1, 10**5), _parameters(N=5), _parameters(N=4)
    svt, laplace = "reals/real_svt_gauss", "reals/real_svt_laplace"
    return (
        _real(svt, "3/10", rare),
        _real(svt, "0.298952", rare),
        _real(svt, "0.445", rare, five),
        _real(laplace, "1/2", Fraction(0)),
        _real(laplace, "0.293", rare),
        _real("reals/real_noisy_max_gauss", "0.26", rare, four),
    )


def _real(
    file: str, eps_prv: str, delta: Fraction, parameters: Mapping[str, Fraction] | None = None
) -> ProofCase:
    claim = f"eps_prv = {eps_prv}"
    return ProofCase(file, claim, Fraction(eps_prv), delta, parameters=parameters or {})


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A case, read and answered once.

    Attributes:
        verdict: Replayed.
    """

    program: Program
    claim: Claim
    selection: PairSelection
    verdict: Verdict
    text: str


def _prepare(case: ProofCase, programs: Path) -> _Prepared:
    source = read_source(programs / f"{case.file}.dpg", case.parameters)
    program = program_from(source, reals=True)
    selection: PairSelection = AllPairs()
    if case.single:
        first, second = single_pair(program)
        selection = OrderedPairs(((first, second), (second, first)))
    delta = case.delta
    if delta is None:
        widest = Claim(EPSILON, Fraction(1), case.eps_prv)
        setting = Setting(program, selection, Options(precision=60))
        found = verify(setting, widest).delta_enclosure
        if found is None:
            raise NoAnswer("the largest delta is not known")
        delta = (found.upper if case.room > 0 else found.lower) + case.room
    claim = Claim(EPSILON, delta, case.eps_prv)
    setting = Setting(program, selection, Options())
    verdict = verify(setting, claim)
    if verdict.answer is not case.answer:
        raise NoAnswer(verdict.reason or verdict.answer.value)
    replayed = proved(setting, verdict)
    if replayed.replayed is None:
        raise NoAnswer(replayed.reason or "no proof")
    written = certify_answer(setting, source, replayed).to_json()
    return _Prepared(program, claim, selection, replayed, written)


def measure_proof(case: ProofCase, programs: Path, patience: Patience) -> Row:
    """Measure a case in this process; without a proof all contestants have failed."""
    try:
        prepared = _prepare(case, programs)
    except NoAnswer as none:
        failed = Timing(Outcome.FAILED, (0.0,), str(none))
        return _row(case, dict.fromkeys((FOUND, WRITTEN, REPLAYED), failed), 0)
    program, claim, selection = prepared.program, prepared.claim, prepared.selection
    source = read_source(programs / f"{case.file}.dpg", case.parameters)

    def find(cap: float) -> None:
        with limited(Limits(seconds=cap)):
            found = verify(Setting(program, selection, Options()), claim)
        if found.answer is not case.answer:
            raise NoAnswer(found.reason or found.answer.value)

    def write(cap: float) -> None:
        setting = Setting(program, selection, Options())
        verdict = prepared.verdict
        assert verdict.replayed is not None
        with limited(Limits(seconds=cap)), asking(check_limits):
            proof = written_proof(setting, goal_of(verdict), verdict.replayed.bits)
        again = replace(verdict, replayed=replace(verdict.replayed, proof=proof))
        certify_answer(setting, source, again).to_json()

    def replay_it(cap: float) -> None:
        proof = json.loads(prepared.text)
        with asking(Limits(seconds=cap).check):
            replay(proof["machine"], proof["claim"], proof["steps"])

    runs: dict[str, Run] = {FOUND: find, WRITTEN: write, REPLAYED: replay_it}
    return _row(case, side_by_side(runs, patience), len(prepared.text.encode()))


def _row(case: ProofCase, timings: Mapping[str, Timing], size: int) -> Row:
    found, written, replayed = (timings[name] for name in (FOUND, WRITTEN, REPLAYED))
    return Row(
        case,
        {
            "timings": timings,
            "replaying": ratio(replayed, found),
            "writing": ratio(written, found),
            "bytes": size,
        },
    )


def _figures(rows: Rows) -> list[Figure]:
    missed = [
        Figure(row.name, "a replay", row.found["timings"][REPLAYED].reason, reached=False)
        for row in rows
        if row.found["replaying"] is None
    ]
    replayed, written = proving("proofs", rows, "writing", "replaying")
    return [*missed, *replayed, *written, *largest_file(rows)]


_COLUMNS: tuple[Column, ...] = (
    *(("claim", lambda row: row.name), *taken(FOUND, WRITTEN), ("times", of("writing"))),
    *(*taken(REPLAYED), ("times", of("replaying")), ("bytes", of("bytes"))),
)

PROOFS = Table(
    "proof",
    """## Finding, writing and replaying

A verdict at one ε without a proof, the file of its proof, and the kernel's replay of the file. The
program is read before. "times": how many times longer replaying took than finding, and writing.""",
    _COLUMNS,
    _figures,
)

_MOST_OF_REALS = 5
"""The kernel follows every input by itself, and knows fewer lemmas."""

REAL_INPUTS = Table(
    "real inputs",
    """## All real inputs

Likewise, a verdict about infinitely many pairs.""",
    _COLUMNS,
    lambda rows: [
        figure
        for row in rows
        for figure in at_most(
            row.name,
            row.found["replaying"],
            _MOST_OF_REALS,
            f"replaying at most {_MOST_OF_REALS} times as long as finding",
        )
    ],
)
