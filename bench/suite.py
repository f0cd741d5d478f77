"""Which cases are measured, and running all of them: `measure_suite`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from bench.automata import AutomatonCase, Budgeted, automata, measure_automaton
from bench.cases import AnyCase, Batch, Case, Chain
from bench.commands import CommandMeasured, measure_proved_command, proved_commands
from bench.comparison import Comparison, TierComparison, compare_engines, compare_tier
from bench.compositions import RunsCase, RunsMeasured, many_runs, measure_runs
from bench.growth import Command, Growth, measure_alone, measure_command
from bench.polyhedra import (
    LinearGuards,
    PartialSums,
    Polyhedra,
    PolyhedraComparison,
    Ring,
    TreeOfCounters,
    compare_polyhedra,
)
from bench.real_inputs import RealCase, RealMeasured, measure_real, real_cases
from bench.real_outputs import Published, PublishedComparison, compare_published, published_numbers
from bench.replays import ProofCase, ProofMeasured, measure_proof, proof_cases
from bench.services import ServedBudget, ServiceCase, measure_service, servers
from bench.sweeping import Swept, measure_sweep
from bench.timing import Patience
from dipapprox.laws.families import GAUSSIAN, LAPLACE

SVT = ("svt_gauss", "svt_laplace", "svt_mix1", "svt_mix2")
NOISY = ("noisy_max_gauss", "noisy_max_laplace", "noisy_min_gauss", "noisy_min_laplace")


@dataclass(frozen=True, slots=True)
class Suite:
    """What to measure.

    Attributes:
        compared: Cases for all engines side by side.
        batches: Events for the certified float64 tier beside plain numpy.
        alone: Families of cases of growing N, each case in a process of its own.
        polyhedra: Linear guards, beside scipy where the samples are Gaussian.
        published: Divergences of published numbers, beside scipy.
        automata: Least budgets.
        real_inputs: Verdicts about all real inputs, and checks of their certificates.
        proofs: Verdicts, and the kernel's replays of their proofs.
        every: Of every so many programs whole commands are measured, with and without proofs; 0
            for none.
        services: Least budgets of query servers.
        compositions: What many runs cost.
        comparing: Patience for `compared`.
        batching: Patience for `batches`, `polyhedra` and `published`.
        growing: Patience for `alone`.
        starts: How often the whole command is run.
        blocks: Of the cases of a sweep.
    """

    compared: tuple[AnyCase, ...]
    batches: tuple[Batch, ...]
    alone: dict[str, tuple[AnyCase, ...]]
    polyhedra: tuple[LinearGuards, ...]
    published: tuple[Published, ...]
    automata: tuple[AutomatonCase, ...]
    real_inputs: tuple[RealCase, ...]
    proofs: tuple[ProofCase, ...]
    every: int
    services: tuple[ServiceCase, ...]
    compositions: tuple[RunsCase, ...]
    comparing: Patience
    batching: Patience
    growing: Patience
    commanding: Patience
    starts: int
    blocks: int


PRECISE = (
    *(Case(program, 25, bits=200) for program in SVT),
    Case("noisy_max_gauss", 5, merge=False, bits=200),
    Case("noisy_max_laplace", 5, merge=False, bits=200),
    Case("noisy_max_gauss", 100, bits=200),
    Case("k_min_max_gauss", 4, bits=200),
    Case("m_range_gauss", 3, bits=200),
    Case("svt_gauss", 12, all_pairs=True, bits=200),
    Case("noisy_max_gauss", 10, all_pairs=True, bits=200),
)
"""Every output probability to 2^-200."""

OFFSETS = (
    Case("top_k_gauss", 5, all_pairs=True),
    Case("literature/top_k_selection", 5, all_pairs=True),
    Case("literature/band_sparse_vector", 5),
    Case("literature/band_sparse_vector", 10),
)
"""The two largest noisy values; a band round a noisy threshold."""

SUMS = (
    Case("weighted_sum", 0, all_pairs=True, least_at=Fraction(1, 1000)),
    Case("sums_compared", 0, all_pairs=True),
    Case("svt_prefix_gauss", 10),
    Case("svt_prefix_laplace", 10),
    Case("literature/prefix_sum", 10),
    Case("literature/prefix_sum", 20),
)
"""Linear guards: one, several, sums that grow."""

REALS = (
    *(Case("reals/real_svt_gauss", n, all_pairs=True, least_at=Fraction(1, 10**5)) for n in (3, 5)),
    Case("reals/real_noisy_max_gauss", 4, all_pairs=True, least_at=Fraction(1, 10**5)),
    Case("reals/real_svt_laplace", 3, all_pairs=True, least_at=Fraction(1, 10**5)),
)
"""Real inputs between bounds."""

FOUR_UNMERGED = Case("noisy_max_gauss", 4, merge=False)

FULL = Suite(
    compared=(
        *(Case(program, n) for n in (5, 25) for program in SVT),
        FOUR_UNMERGED,
        Case("noisy_max_gauss", 4),
        Case("k_min_max_gauss", 4),
        Case("m_range_gauss", 1),
        Case("m_range_gauss", 2),
        Chain(6),
    ),
    batches=(
        *(Batch(Case(program, 25)) for program in SVT),
        Batch(Case("svt_gauss", 1000)),
        Batch(FOUR_UNMERGED),
        Batch(Case("noisy_max_gauss", 4)),
        Batch(Case("noisy_max_laplace", 5, merge=False)),
        Batch(Case("k_min_max_gauss", 4)),
        Batch(Case("m_range_gauss", 1)),
        Batch(Case("m_range_gauss", 2)),
        Batch(Chain(6)),
        Batch(Case("svt_gauss", 12), all_inputs=True),
        Batch(Case("noisy_max_gauss", 5, merge=False), all_inputs=True),
        Batch(Case("k_min_max_gauss", 6), all_inputs=True),
        Batch(Case("m_range_gauss", 3), all_inputs=True),
    ),
    alone={
        **{program: tuple(Case(program, n) for n in (5, 25, 100, 1000)) for program in SVT},
        "svt_gauss, many queries": tuple(Case("svt_gauss", n) for n in (4000, 50_000)),
        "svt_gauss, all pairs": tuple(
            Case("svt_gauss", n, all_pairs=True) for n in (5, 12, 25, 100)
        ),
        "noisy_max_gauss, not merged": tuple(
            Case("noisy_max_gauss", n, merge=False) for n in (3, 4, 5)
        ),
        **{
            f"{program}, not merged": (Case(program, 5, merge=False),)
            for program in NOISY
            if program != "noisy_max_gauss"
        },
        **{program: tuple(Case(program, n) for n in (5, 25, 100)) for program in NOISY},
        "noisy_max_gauss, many queries": (Case("noisy_max_gauss", 400),),
        "noisy_max_gauss, all pairs": tuple(
            Case("noisy_max_gauss", n, all_pairs=True) for n in (5, 10, 30, 100)
        ),
        "k_min_max_gauss": tuple(Case("k_min_max_gauss", n) for n in (3, 4, 8, 12)),
        "m_range_gauss": tuple(Case("m_range_gauss", n) for n in (1, 2, 3, 5, 10)),
        "P[x1 < … < xN]": tuple(Chain(n) for n in (5, 10, 20, 40)),
        "comparisons with offsets": OFFSETS,
        "sums": SUMS,
        "real inputs": REALS,
        "at 200 bits": PRECISE,
    },
    polyhedra=(
        *(Polyhedra(2, 40), Polyhedra(3, 40), Polyhedra(4, 10), Polyhedra(5, 3)),
        *(PartialSums(family, 20) for family in (GAUSSIAN, LAPLACE)),
        *(TreeOfCounters(family, 8) for family in (GAUSSIAN, LAPLACE)),
        *(Ring(family, 5) for family in (GAUSSIAN, LAPLACE)),
    ),
    published=published_numbers(),
    automata=automata(),
    real_inputs=real_cases(),
    proofs=proof_cases(),
    every=8,
    services=servers(),
    compositions=many_runs(),
    comparing=Patience(runs=15, seconds=5.0, cap=12.0),
    batching=Patience(runs=15, seconds=2.0, cap=60.0),
    growing=Patience(runs=5, seconds=1.0, cap=60.0, least=3),
    commanding=Patience(runs=2, seconds=1.0, cap=10.0),
    starts=7,
    blocks=40,
)

QUICK = Suite(
    compared=(Case("svt_gauss", 5), FOUR_UNMERGED),
    batches=(
        Batch(Case("svt_gauss", 25)),
        Batch(FOUR_UNMERGED),
        Batch(Case("k_min_max_gauss", 4)),
        Batch(Case("svt_gauss", 12), all_inputs=True),
    ),
    alone={
        "svt_gauss": (Case("svt_gauss", 5), Case("svt_gauss", 25)),
        "svt_gauss, all pairs": (Case("svt_gauss", 5, all_pairs=True),),
        "P[x1 < … < xN]": (Chain(10), Chain(40)),
    },
    polyhedra=(Polyhedra(3, 10), PartialSums(GAUSSIAN, 5)),
    published=published_numbers()[:2],
    automata=automata()[:10],
    real_inputs=real_cases()[:1],
    proofs=proof_cases()[:2],
    every=0,
    services=servers()[:3],
    compositions=many_runs()[:1],
    comparing=Patience(runs=5, seconds=2.0, cap=8.0),
    batching=Patience(runs=7, seconds=1.0, cap=20.0),
    growing=Patience(runs=3, seconds=1.0, cap=10.0),
    commanding=Patience(runs=1, seconds=1.0, cap=10.0),
    starts=3,
    blocks=4,
)
"""Under a minute, most of it for the published method's shape."""


@dataclass(slots=True)
class Results:
    """What was measured, in order."""

    compared: list[tuple[AnyCase, Comparison]] = field(default_factory=list)
    batches: list[TierComparison] = field(default_factory=list)
    polyhedra: list[PolyhedraComparison] = field(default_factory=list)
    published: list[PublishedComparison] = field(default_factory=list)
    automata: list[Budgeted] = field(default_factory=list)
    real_inputs: list[RealMeasured] = field(default_factory=list)
    proofs: list[ProofMeasured] = field(default_factory=list)
    commands: list[CommandMeasured] = field(default_factory=list)
    services: list[ServedBudget] = field(default_factory=list)
    compositions: list[RunsMeasured] = field(default_factory=list)
    alone: list[tuple[str, AnyCase, Growth]] = field(default_factory=list)
    command: Command | None = None
    swept: Swept | None = None


def measure_suite(suite: Suite, programs: Path, tell: Callable[[str], None]) -> Results:
    """Measure everything in a suite.

    Args:
        suite: What.
        programs: Folder of the programs.
        tell: Is told what is being measured.
    """
    results = Results()
    claim = ("--eps", "0.5", "--eps-prv", "1.24", "--delta", "0.01")
    words = ("verify", str(programs / "svt_gauss.dpg"), "-p", "N=5", *claim)
    tell("the whole command")
    results.command = measure_command(words, suite.starts)
    tell("a sweep")
    results.swept = measure_sweep(programs, suite.blocks)
    for family, cases in suite.alone.items():
        for case in cases:
            tell(f"alone: {case.name}")
            found = measure_alone(case, programs, suite.growing)
            results.alone.append((family, case, found))
    for batch in suite.batches:
        tell(f"certified and plain: {batch.name}")
        results.batches.append(compare_tier(batch, programs, suite.batching))
    for polyhedra in suite.polyhedra:
        tell(f"linear guards and scipy: {polyhedra.name}")
        results.polyhedra.append(compare_polyhedra(polyhedra, suite.batching))
    for published in suite.published:
        tell(f"published numbers and scipy: {published.name}")
        results.published.append(compare_published(published, suite.batching))
    for automaton in suite.automata:
        tell(f"least budget: {automaton.name}")
        results.automata.append(measure_automaton(automaton, suite.batching))
    for real in suite.real_inputs:
        tell(f"all real inputs: {real.name}")
        results.real_inputs.append(measure_real(real, programs, suite.batching))
    for proof in suite.proofs:
        tell(f"found, written and replayed: {proof.name}")
        results.proofs.append(measure_proof(proof, programs, suite.batching))
    for asked in proved_commands(programs, suite.every) if suite.every else ():
        tell(f"found, proved and checked: {' '.join(asked)}")
        results.commands.append(measure_proved_command(asked, programs, suite.commanding))
    for service in suite.services:
        tell(f"least budget: {service.name}")
        results.services.append(measure_service(service, suite.batching))
    for runs in suite.compositions:
        tell(f"many runs: {runs.name}")
        results.compositions.append(measure_runs(runs, suite.batching))
    for case in suite.compared:
        tell(f"engines: {case.name}")
        results.compared.append((case, compare_engines(case, programs, suite.comparing)))
    return results
