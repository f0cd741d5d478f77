"""Least budgets of services: the query server of Tschantz, Kaynar and Datta, for points of {-1, 1}.

From the elaborated service to the bounds; the paper reports no run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from bench.rows import Row, Table, of, within
from bench.timing import NoAnswer, Patience, side_by_side
from dipapprox.bundled import BUNDLED
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.language.services import Service, elaborate_service
from dipapprox.limits import Limits, limited
from dipapprox.services.model import AskedService
from dipapprox.services.prove_service import find_loss

_SLOTS = BUNDLED / "services" / "slots.dpg"
_POOL = BUNDLED / "services" / "shared_pool.dpg"


@dataclass(frozen=True, slots=True)
class ServiceCase:
    """A server with t slots of v points, and most seconds that a proof is meant to take.

    Attributes:
        slots: t.
        points: v.
        pool: Whether the slots share one memory.
        listed: Whether sums are finite cells, for points of -1..1: all pairs are listed.
        goal: Most seconds.
    """

    slots: int
    points: int
    pool: bool = False
    listed: bool = False
    goal: float = 1.0

    @property
    def name(self) -> str:
        """What tables call it."""
        memory = "one pool" if self.pool else "slots"
        listed = ", sums by value" if self.listed else ""
        return f"{memory}, t = {self.slots}, v = {self.points}{listed}"

    @property
    def service(self) -> Service:
        """The server."""
        path = _POOL if self.pool else _SLOTS
        parameters = {"t": Fraction(self.slots), "v": Fraction(self.points)}
        program = read_source(path, {}).program
        if self.listed:
            parameters["m"] = Fraction(1)
            text = path.read_text(encoding="utf-8")
            program = parse(text.replace("total[t] in int", "total[t] in -v*m..v*m"), str(path))
        return elaborate_service(program, parameters, path.stem)


def servers() -> tuple[ServiceCase, ...]:
    """Return what is measured."""
    return (
        *(ServiceCase(t, v) for t, v in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2))),
        ServiceCase(10, 1000, goal=2.0),
        ServiceCase(2, 6, listed=True, goal=5.0),
        *(ServiceCase(t, v, pool=True) for t, v in ((1, 1), (2, 1), (2, 2), (2, 3))),
    )


def measure_service(case: ServiceCase, programs: Path, patience: Patience) -> Row:
    """Measure a proof."""
    service = case.service
    loss = find_loss(AskedService(service))
    bounds = "none" if loss.unbounded else f"{loss.lower}" if loss.upper == loss.lower else "open"

    def prove(cap: float) -> None:
        with limited(Limits(seconds=cap)):
            found = find_loss(AskedService(service))
        if found.reason:
            raise NoAnswer(found.reason)

    timing = side_by_side({case.name: prove}, patience)[case.name]
    pairs = 0 if loss.pairs is None else len(loss.pairs.nodes)
    return Row(case, {"bounds": bounds, "pairs": pairs, "timing": timing})


SERVICES = Table(
    "service",
    """## Least budgets of services

The query server of Tschantz, Kaynar and Datta with t slots of v points, or one pool of memory: for
every ε and every sequence of calls. From the elaborated service to the bounds; the paper reports no
run.""",
    (
        *(("server", lambda row: row.name), ("least D", of("bounds")), ("pairs", of("pairs"))),
        ("prove", of("timing")),
    ),
    lambda rows: [
        figure
        for row in rows
        for figure in within(row.name, row.found["timing"], row.case.goal, "least budget in ")
    ],
)
