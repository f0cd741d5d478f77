"""The least noise that meets a target: between which program epsilons a claim starts to fail.

Let P(e) be the least eps_prv that the program needs at delta when it is run with eps = e. The
claim (eps_prv, delta) holds at e exactly if P(e) <= eps_prv. Usually P grows with e, and is nearly
proportional to it; so

    bracket:  from e, go to about e * eps_prv / P(e), beyond it, until one eps is certified
              and a larger one is refuted
    narrow:   guess the crossing on the line through the ends, query a little to the side of it
              where the last answer was not; halve the bracket when that does not shrink it
    aside:    where bounds of P(e) do not decide, go to where either bound is eps_prv

No subdivision (`intervals.search`): where the claim holds is asked of single eps, not of parts.
That P grows is not assumed in what is reported: the claim is *certified at* the lower end and
*refuted at* the upper end. Between and beyond them nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, exact_decimal, short
from dipapprox.arithmetic.extended import Extended
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.language.core import Draw, Epsilon, Program
from dipapprox.language.traversal import nodes_in
from dipapprox.limits import Progress, check_limits, current
from dipapprox.privacy.charts import Chart
from dipapprox.privacy.description import Description, End, Fact, count
from dipapprox.privacy.profiles.profile_result import AtDelta, LeastEpsPrv
from dipapprox.privacy.run import Replayed, Run, RunResult, Setting, Witness

_SMALLEST = Fraction(1, 2**20)
_LARGEST = Fraction(2**20)  # epsilons outside are not tried
_MOST_QUERIES = 300
_MOST_ASIDE = 8  # asked about on either side of what is not decided
_UNCLAIMED = (
    "that the needed eps_prv grows with eps is not assumed, and nothing is claimed about other "
    "values of eps"
)


class Asked(Record):
    """An eps that was asked about: by itself, what is `needed` there is not told from eps_prv."""

    eps: Fraction
    needed: Extended


class Certified(Asked):
    """An eps at which the claim holds: the least eps_prv, `needed`, is at most the claimed one."""


class Refuted(Asked):
    """An eps at which the claim fails, with the pair and the outputs that show it."""

    witness: Witness | None  # its delta, at the claimed eps_prv, exceeds the claimed delta


class Calibration(Record, RunResult):
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
            **self.extent(),
            **self.footer(),
        }

    def why(self) -> tuple[End, ...]:
        """Return who gave the ends that decide: the upper one at the certified ε, the lower one at
        the refuted ε."""
        found: list[End] = []
        for at in (self.certified, self.refuted):
            if at is not None:
                witness = at.witness if isinstance(at, Refuted) else None
                of = f"ε_prv needed at ε = {exact_decimal(at.eps)}"
                known = self._ends(of, at.needed, witness)
                found += (end for end in known if end.least is isinstance(at, Refuted))
        return tuple(found)

    def charts(self) -> tuple[Chart, ...]:
        if self.refuted is None:
            return ()
        title = f"Refuted at ε = {self.refuted.eps}: these outputs are too likely"
        return self._witness_charts(title, self.refuted.witness)

    def describe(self) -> Description:
        facts = list[Fact]()
        for name, end in (("certified", self.certified), ("refuted", self.refuted)):
            text = "none found"
            if end is not None:
                needs = _rough(end.needed)
                if isinstance(end, Refuted) and end.needed.lower == self.eps_prv:
                    needs = needs.replace("≥", ">")  # as it is refuted
                text = f"ε = {exact_decimal(end.eps)} (needs ε_prv {needs})"
            facts.append((f"{name} at", text))
        if self.refuted is not None and self.refuted.witness is not None:
            first, second = self.refuted.witness.pair_text(self.inputs)
            facts += [("refuted for input", first), ("and adjacent", second)]
        return self.described(
            f"{self.program}: calibration{self.scope.restriction}",
            label="calibrate",
            asked=(("claim", f"(ε_prv, δ) = ({self.eps_prv}, {self.delta})"),),
            found=(*facts, ("meaning", self.meaning), ("reason", self.reason)),
            computed=f"{count(self.queries, 'value')} of ε tried",
        )


def _rough(needed: Extended) -> str:
    """Write an eps_prv with few digits: the exact ends are in the JSON."""
    if needed.lower is None:
        return "= ∞"
    if needed.upper is None:
        return f"≥ {needed.ends()[0]}"
    low, high = short(Enclosure(needed.lower, needed.upper), 8)
    return f"= {low}" if low == high else f"in [{low}, {high}]"


Ask = Callable[[Fraction, AtDelta], LeastEpsPrv]
Query = Callable[[Fraction], Asked]


@sound_arithmetic()
def calibrate(
    setting: Setting,
    ask: Ask,
    eps_prv: Fraction,
    delta: Fraction,
    width: Fraction,
    *,
    near_budget: bool = False,
) -> Calibration:
    """Find a program eps at which a claim is certified, and a slightly larger one where not.

    A limit ends the search with what was found by then, if only that nothing was.

    Args:
        setting: What is asked about; told about the epsilons tried.
        width: Wanted distance of the two, relative to the larger one, in (0, 1).
        near_budget: Whether likely pairs next to a budget are what eps_prv is told by: pairs are
            very many.
    """
    # Far below the width of eps: the eps_prv is about proportional to it.
    share = width / 4 if near_budget else min(width / 2**10, Fraction(1, 10**9))
    question = AtDelta(delta, share * max(eps_prv, width), eps_prv)
    options = setting.options
    run = setting.header(precision=options.precision, engine=options.engine.value)

    def query(eps: Fraction) -> Asked:
        nonlocal run
        check_limits()
        found = ask(eps, question)
        run, needed = found.run, found.eps_prv_enclosure
        if needed.upper is not None and needed.upper <= eps_prv:
            return Certified(eps, needed)
        if needed.lower is None or needed.lower > eps_prv:
            return Refuted(eps, needed, found.witness)
        return Asked(eps, needed)

    search, reason = _Search(query, eps_prv, width, setting.progress), None
    try:
        search.run(_knows_eps(setting.program))
    except LimitReached as reached:
        reason = reached.reason  # what was found stays true
    return Calibration(
        run=replace(run, seconds=current().elapsed(), reason=reason),
        eps_prv=eps_prv,
        delta=delta,
        width=width,
        certified=search.lower,
        refuted=search.upper,
        queries=search.queries,
    )


def _knows_eps(program: Program) -> bool:
    """Whether the law of some sample or choice depends on eps."""
    return any(
        isinstance(each, Epsilon) or (isinstance(each, Draw) and each.scale.power != 0)
        for each in nodes_in(program.body)
    )


class _Search(Record, frozen=False):
    """Brackets and narrows; raises `LimitReached` where the bracket cannot be made narrow."""

    query: Query
    eps_prv: Fraction
    width: Fraction
    progress: Progress
    lower: Certified | None = None
    upper: Refuted | None = None
    queries: int = 0

    def run(self, matters: bool) -> None:
        """Search; where no eps matters the two ends are enough."""
        if not matters:
            if isinstance(self._decided(_LARGEST, _LARGEST / 2, _LARGEST * 2), Refuted):
                self._decided(_SMALLEST, _SMALLEST / 2, _SMALLEST * 2)
            raise LimitReached("no noise of the program depends on eps: every eps is as good")
        self._enclose()
        stalled, certified_last = False, True
        while True:
            low, high = self._ends()
            size = high - low
            if size <= self.width * high:
                return
            if self.queries >= _MOST_QUERIES:
                raise LimitReached("too many epsilons tried")
            guess = None if stalled else self._crossing()
            if guess is None:
                place = low * 2 if high > 4 * low else (low + high) / 2
            else:
                side = self.width * high * Fraction(2, 5)
                place = guess + side if certified_last else guess - side
                place = min(max(place, low + size / 64), high - size / 64)
            certified_last = isinstance(self._decided(place, low, high), Certified)
            low, high = self._ends()
            stalled = not stalled and high - low > size / 2

    def _ends(self) -> tuple[Fraction, Fraction]:
        assert self.lower is not None and self.upper is not None
        return self.lower.eps, self.upper.eps

    def _enclose(self) -> None:
        """Try epsilons until one is certified and a larger one refuted."""
        place = self.eps_prv if self.eps_prv > 0 else Fraction(1)
        place = min(max(place, _SMALLEST), _LARGEST)
        for stride in range(60):
            answer = self._decided(place, place / 8, place * 8)
            if self.lower is not None and self.upper is not None:
                low, high = self._ends()
                # A certified eps above a refuted one: P is not monotone. Keep what fits.
                if low < high:
                    return
                answer, self.upper = self.lower, None
                place = answer.eps
            needed, proportional = answer.needed.lower, place
            if needed and self.eps_prv:
                proportional = place * self.eps_prv / needed
            step = 1 + Fraction(2 ** min(stride, 4), 16)
            if isinstance(answer, Certified):
                if place >= _LARGEST:
                    raise LimitReached(f"no refuted eps up to {_LARGEST}")
                place = min(max(proportional, place) * step, _LARGEST)
            else:
                if place <= _SMALLEST:
                    raise LimitReached(f"no certified eps down to {_SMALLEST}")
                place = max(min(proportional, place) / step, _SMALLEST)
        raise LimitReached("no bracket found")

    def _crossing(self) -> Fraction | None:
        """Guess where the needed eps_prv crosses the claimed one, on the line through the ends."""
        lower, upper = self.lower, self.upper
        assert lower is not None and upper is not None
        if lower.needed.lower is None or upper.needed.lower is None:
            return None
        rise = upper.needed.lower - lower.needed.lower
        if rise <= 0:
            return None
        share = (self.eps_prv - lower.needed.lower) / rise
        return lower.eps + share * (upper.eps - lower.eps)

    def _decided(self, place: Fraction, low: Fraction, high: Fraction) -> Asked:
        """Query near a place; where the claim is not decided, aside: down, then up."""
        known, told = (self.lower, self.upper), self._told(place, low, high)
        if type(told) is not Asked:
            return told
        for side in (-1, 1):
            each = told
            for _ in range(_MOST_ASIDE):
                end = each.needed.upper if side < 0 else each.needed.lower
                share = self.eps_prv / end * (1 + side * self.width / 4) if end else Fraction(1)
                if abs(share - 1) <= self.width / 8 or not low < each.eps * share < high:
                    break
                each = self._told(each.eps * share, low, high)
        for before, now in zip(known, (self.lower, self.upper), strict=True):
            if now and (not before or abs(now.eps - before.eps) > self.width * now.eps):
                return now
        raise LimitReached(f"the claim is not decided near eps = {float(place):.10g}")

    def _told(self, place: Fraction, low: Fraction, high: Fraction) -> Asked:
        """Query near a place, and keep an answer that is nearer to the crossing."""
        answer = self.query(_short(place, self.width, low, high))
        self.queries += 1
        self.progress(self.queries, None)
        if isinstance(answer, Refuted) and (self.upper is None or answer.eps < self.upper.eps):
            self.upper = answer
        if isinstance(answer, Certified) and (self.lower is None or answer.eps > self.lower.eps):
            self.lower = answer
        return answer


def _short(value: Fraction, width: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """Round to a short decimal strictly between low and high: it is printed as it is."""
    unit = Fraction(10)
    while unit > value * width / 64 or not low < round(value / unit) * unit < high:
        unit /= 10
    return round(value / unit) * unit
