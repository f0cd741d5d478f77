"""Which cases are measured, and running all of them: `measure`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.automata import AUTOMATA, automata, measure_automaton
from bench.cases import NOISY, OFFSETS, PRECISE, REALS, SUMS, SVT, AnyCase, Batch, Case, Chain
from bench.commands import PROVED_COMMANDS, measure_proved_command, proved_commands
from bench.comparison import ENGINES, FOUR_UNMERGED, TIER, compare_engines, compare_tier
from bench.compositions import COMPOSITIONS, many_runs, measure_runs
from bench.growth import ALONE, InFamily, measure_alone
from bench.polyhedra import (
    POLYHEDRA,
    compare_polyhedra,
    partial_sums,
    polyhedra,
    ring,
    tree_of_counters,
)
from bench.real_outputs import PUBLISHED, compare_published, published_numbers
from bench.replays import PROOFS, REAL_INPUTS, measure_proof, proof_cases, real_cases
from bench.rows import Figure, Row, Table
from bench.services import SERVICES, measure_service, servers
from bench.sweeping import SWEEP, WHOLE, SweptCases, Whole, measure_sweep, measure_whole
from bench.timing import Patience
from dipapprox.laws.families import GAUSSIAN, LAPLACE

Results = Mapping[str, Sequence[Row]]
"""What was measured, by the kinds of tables."""

TABLES: Mapping[str, tuple[Table, Callable[[Any, Path, Patience], Row]]] = {
    table.kind: (table, measured)
    for table, measured in (
        (ENGINES, compare_engines),
        (TIER, compare_tier),
        (POLYHEDRA, compare_polyhedra),
        (PUBLISHED, compare_published),
        (AUTOMATA, measure_automaton),
        (REAL_INPUTS, measure_proof),
        (PROOFS, measure_proof),
        (PROVED_COMMANDS, measure_proved_command),
        (SERVICES, measure_service),
        (COMPOSITIONS, measure_runs),
        (ALONE, measure_alone),
        (WHOLE, measure_whole),
        (SWEEP, measure_sweep),
    )
}
"""In the order of pages, and how a case of each is measured."""

Suite = Mapping[str, tuple[Patience, Sequence[Any]]]
"""The cases of kinds, in the order of measuring."""


def measure(suite: Suite, programs: Path, tell: Callable[[str], None]) -> Results:
    """Measure everything in a suite.

    Args:
        suite: What.
        programs: Folder of the programs.
        tell: Is told what is being measured.
    """
    results: dict[str, list[Row]] = {}
    for kind, (patience, cases) in suite.items():
        _, measured = TABLES[kind]
        for case in cases:
            tell(f"{kind}: {case.name}")
            results.setdefault(kind, []).append(measured(case, programs, patience))
    return results


def figures(results: Results) -> list[Figure]:
    """Compare what was measured with the goals."""
    return [
        figure
        for kind, (table, _) in TABLES.items()
        for figure in table.figures(results.get(kind, ()))
    ]


def _in_families(families: Mapping[str, Sequence[AnyCase]]) -> Iterator[InFamily]:
    return (InFamily(family, case) for family, cases in families.items() for case in cases)


def full(programs: Path) -> Suite:
    """Return everything."""
    batching = Patience(runs=15, seconds=2.0, cap=60.0)
    families: dict[str, Sequence[AnyCase]] = {
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
    }
    return {
        WHOLE.kind: (batching, [Whole(7)]),
        SWEEP.kind: (batching, [SweptCases(40)]),
        ALONE.kind: (
            Patience(runs=5, seconds=1.0, cap=60.0, least=3),
            list(_in_families(families)),
        ),
        TIER.kind: (
            batching,
            (
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
        ),
        POLYHEDRA.kind: (
            batching,
            (
                *(polyhedra(rank, count) for rank, count in ((2, 40), (3, 40), (4, 10), (5, 3))),
                *(partial_sums(family, 20) for family in (GAUSSIAN, LAPLACE)),
                *(tree_of_counters(family, 8) for family in (GAUSSIAN, LAPLACE)),
                *(ring(family, 5) for family in (GAUSSIAN, LAPLACE)),
            ),
        ),
        PUBLISHED.kind: (batching, published_numbers()),
        AUTOMATA.kind: (batching, automata()),
        REAL_INPUTS.kind: (batching, real_cases()),
        PROOFS.kind: (batching, proof_cases()),
        PROVED_COMMANDS.kind: (
            Patience(runs=2, seconds=1.0, cap=10.0),
            proved_commands(programs, 8),
        ),
        SERVICES.kind: (batching, servers()),
        COMPOSITIONS.kind: (batching, many_runs()),
        ENGINES.kind: (
            Patience(runs=15, seconds=5.0, cap=12.0),
            (
                *(Case(program, n) for n in (5, 25) for program in SVT),
                FOUR_UNMERGED,
                Case("noisy_max_gauss", 4),
                Case("k_min_max_gauss", 4),
                Case("m_range_gauss", 1),
                Case("m_range_gauss", 2),
                Chain(6),
            ),
        ),
    }


def quick(programs: Path) -> Suite:
    """Return what takes under a minute, most of it for the published method's shape."""
    batching = Patience(runs=7, seconds=1.0, cap=20.0)
    families: dict[str, Sequence[AnyCase]] = {
        "svt_gauss": (Case("svt_gauss", 5), Case("svt_gauss", 25)),
        "svt_gauss, all pairs": (Case("svt_gauss", 5, all_pairs=True),),
        "P[x1 < … < xN]": (Chain(10), Chain(40)),
    }
    return {
        WHOLE.kind: (batching, [Whole(3)]),
        SWEEP.kind: (batching, [SweptCases(4)]),
        ALONE.kind: (Patience(runs=3, seconds=1.0, cap=10.0), list(_in_families(families))),
        TIER.kind: (
            batching,
            (
                Batch(Case("svt_gauss", 25)),
                Batch(FOUR_UNMERGED),
                Batch(Case("k_min_max_gauss", 4)),
                Batch(Case("svt_gauss", 12), all_inputs=True),
            ),
        ),
        POLYHEDRA.kind: (batching, (polyhedra(3, 10), partial_sums(GAUSSIAN, 5))),
        PUBLISHED.kind: (batching, published_numbers()[:2]),
        AUTOMATA.kind: (batching, automata()[:10]),
        REAL_INPUTS.kind: (batching, real_cases()[:1]),
        PROOFS.kind: (batching, proof_cases()[:2]),
        SERVICES.kind: (batching, servers()[:3]),
        COMPOSITIONS.kind: (batching, many_runs()[:1]),
        ENGINES.kind: (
            Patience(runs=5, seconds=2.0, cap=8.0),
            (Case("svt_gauss", 5), FOUR_UNMERGED),
        ),
    }
