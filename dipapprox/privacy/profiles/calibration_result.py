"""The result of a calibration. Frozen data, nothing printed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.arithmetic.enclosure import Enclosure, exact_decimal, short
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import dataclass
from dipapprox.privacy.charts import Chart
from dipapprox.privacy.description import Description, Fact
from dipapprox.privacy.run import Run, RunResult, Witness
from dipapprox.privacy.verdict import Replayed, proved_fact, proved_fields

if TYPE_CHECKING:
    from dipapprox.privacy.provenance import End

_UNCLAIMED = (
    "that the needed eps_prv grows with eps is not assumed, and nothing is claimed about other "
    "values of eps"
)


@dataclass(frozen=True, slots=True)
class Certified:
    """An eps at which the claim holds: the least eps_prv, `needed`, is at most the claimed one."""

    eps: Fraction
    needed: Extended


@dataclass(frozen=True, slots=True)
class Refuted:
    """An eps at which the claim fails, with the pair and the outputs that show it."""

    eps: Fraction
    needed: Extended
    witness: Witness | None  # its delta, at the claimed eps_prv, exceeds the claimed delta


@dataclass(frozen=True, slots=True)
class Calibration(RunResult):
    """A certified eps and a larger, refuted one next to it.

    Attributes:
        run: The program, and how it was computed; `reason` is why the distance is too large.
        width: What was asked of the distance, relative to the refuted end.
    """

    run: Run
    eps_prv: Fraction
    delta: Fraction
    width: Fraction
    certified: Certified | None
    refuted: Refuted | None
    queries: int
    replayed: Replayed | None = None

    @property
    def meaning(self) -> str:
        """What the two epsilons say, and what they do not."""
        match self.certified, self.refuted:
            case None, None:
                return "no eps tried was decided: nothing is claimed"
            case _, None:
                found = "certified at this eps; no eps tried was refuted"
            case None, _:
                found = "refuted at this eps; no eps tried was certified"
            case _:
                found = "certified at the first eps and refuted at the second"
        return f"{found}; {_UNCLAIMED}"

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `calibrate --json`; the ends are exact decimals, or null."""
        certified, refuted = self.certified, self.refuted
        witness = None if refuted is None else refuted.witness
        return {
            **self.header(),
            "eps_prv": str(self.eps_prv),
            "delta": str(self.delta),
            "eps_enclosure": [
                None if certified is None else exact_decimal(certified.eps),
                None if refuted is None else exact_decimal(refuted.eps),
            ],
            "eps_prv_at_certified": None if certified is None else certified.needed.ends(),
            "eps_prv_at_refuted": None if refuted is None else refuted.needed.ends(),
            "witness": self._witness_fields(witness),
            "meaning": self.meaning,
            "width": str(self.width),
            "tried": self.queries,
            **proved_fields(self.replayed),
            **self.extent(),
            **self.footer(),
        }

    def why(self) -> tuple[End, ...]:
        """Return who gave the ends that decide: the upper one at the certified ε, the lower one at
        the refuted ε."""
        found: list[End] = []
        if self.certified is not None:
            of = f"ε_prv needed at ε = {exact_decimal(self.certified.eps)}"
            known = self._ends(of, self.certified.needed, None)
            found += (end for end in known if not end.least)
        if self.refuted is not None:
            of = f"ε_prv needed at ε = {exact_decimal(self.refuted.eps)}"
            known = self._ends(of, self.refuted.needed, self.refuted.witness)
            found += (end for end in known if end.least)
        return tuple(found)

    def charts(self) -> tuple[Chart, ...]:
        """Return the witness at the refuted ε, drawn."""
        if self.refuted is None:
            return ()
        title = f"Refuted at ε = {self.refuted.eps}: these outputs are too likely"
        return self._witness_charts(title, self.refuted.witness)

    def describe(self) -> Description:
        """Return what people see of it."""
        facts = list[Fact]()
        for name, end in (("certified", self.certified), ("refuted", self.refuted)):
            text = "none found"
            if end is not None:
                text = f"ε = {exact_decimal(end.eps)} (needs ε_prv {_rough(end.needed)})"
            facts.append((f"{name} at", text))
        if self.refuted is not None and self.refuted.witness is not None:
            first, second = self.refuted.witness.pair_text(self.inputs)
            facts += [("refuted for input", first), ("and adjacent", second)]
        return self.described(
            f"{self.program}: calibration{self.scope.restriction}",
            label="calibrate",
            asked=(("claim", f"(ε_prv, δ) = ({self.eps_prv}, {self.delta})"),),
            found=(
                *facts,
                ("meaning", self.meaning),
                ("reason", self.reason),
                proved_fact(self.replayed),
            ),
            computed=f"{self.queries} values of ε tried",
        )


def _rough(needed: Extended) -> str:
    """Write an eps_prv with few digits: the exact ends are in the JSON."""
    if needed.lower is None:
        return "= ∞"
    if needed.upper is None:
        return f"≥ {needed.ends()[0]}"
    low, high = short(Enclosure(needed.lower, needed.upper), 8)
    return f"= {low}" if low == high else f"in [{low}, {high}]"
