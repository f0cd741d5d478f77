"""Compositions: what many runs reveal, or many parts of a machine.

    pipeline    {"adjacency": "add/remove" | "substitution", "runs": [run, …]}
    run         {"what": mechanism | {"machine": machine, "eps": number},
                 "subsample": null | number, "times": integer}
    claim       {"verdict": "DP" | "Not_DP", "eps_prv": number, "delta": number}

All is run on the same data, in any order, and may depend on what came before. Of adjacent data sets
one has a record more, or another record; a machine gets any two of its adjacent inputs, and its
adjacency is symmetric. `subsample` is the rate of a Poisson sample, of one record more. A pipeline
is private if all that it may run is; it is not, if something that it may run is not.

Of a pair of adjacent data sets, or of inputs of a machine of independent `parts`, so many runs and
parts change so: a way. Its H is at most that of losses above so many of these changes, or more, and
at least that of losses below so many, or fewer (`losses`, composition).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, NamedTuple

from flint import arb

from dipapprox.kernel.balls import between, precision, to_ball
from dipapprox.kernel.errors import BadProof, NotProved, Refuted, budget, spend
from dipapprox.kernel.judgements import (
    Change,
    Distributions,
    ExactDistributions,
    LossesOf,
    Of,
    Private,
    Violated,
)
from dipapprox.kernel.losses import Adaptive, Grid, Losses
from dipapprox.kernel.machine import Input, Inputs, Machine, read_machine, read_pairs
from dipapprox.kernel.mechanisms import Mechanism, Pair, of_deltas, read_mechanism, sampled
from dipapprox.kernel.parts import Parts, Way, parts_of
from dipapprox.kernel.proofs import (
    Proof,
    Step,
    claimed,
    largest_of,
    named,
    pair_of,
    pairs_of,
    positive,
)
from dipapprox.kernel.reading import as_flag, as_integer, as_list, as_number, as_record, as_word

MOST_LOOKED = 10_000_000  # whether a machine is noise and nothing else, of each run


class Pipeline(NamedTuple):
    """What is run, as a record is removed, and how many times; without eps, of all pairs."""

    runs: tuple[tuple[Change, int], ...]
    eps: None = None
    pairs: None = None

    def ways(self, known: Iterable[Change]) -> Iterator[Way]:
        """Yield how runs change, if a record is removed, and if one is added."""
        for added in (False, True):
            way = Counter[Change]()
            for run, times in self.runs:
                sample = None if run.sample is None else (run.sample[0], added)
                way[run._replace(sample=sample)] += times
            yield way

    def ways_of(self, step: Step, known: Iterable[Change]) -> tuple[None, Iterator[Way]]:
        """Return the same: no pair is told."""
        return None, self.ways(known)


def inside(about: object, json: object) -> Proof | Mechanism:
    """Read what a step is about.

    {"run": number}, {"part": range, "pairs": null or pairs}, or all three: a part of what is run.
    """
    match about, json:
        case Pipeline(runs), {"part": part, "pairs": pairs, **run}:
            return inside(inside(about, run), {"part": part, "pairs": pairs})
        case Pipeline(runs), _:
            number = as_integer(as_record(json, "a run", ("run",))["run"], "a run")
            if not 0 <= number < len(runs):
                raise BadProof(f"there is no run {number}")
            what = runs[number][0].what
            return Proof(what, None) if isinstance(what, Machine) else what
        case Proof(machine), _:
            record = as_record(json, "a part", ("part", "pairs"))
            part = next(parts_of(machine, record["part"]), None)
            if part is None:
                raise BadProof("a part of no turns")
            pairs, domains = record["pairs"], part.machine.domains
            return Proof(part.machine, None if pairs is None else read_pairs(pairs, domains))
    raise BadProof("what is run for ever, or no machine, has no parts")


def losses_of(about: Proof | Mechanism, step: Step, *known: Private | Distributions) -> LossesOf:
    """Losses that are above a change, through bounds of H; or below it, from sets that are had.

    Theorem (`Grid.above`): where all that may be run, whatever came before, has H <= h at every
    knot, so has their supremum, and the losses are above each. For mechanisms that is `mechanisms`.
    For machines distributions bound H, or premises bound delta, for some pairs, each with its
    reverse, which is H at e^eps_prv. From below (`Grid.below`) any sets of outcomes of one pair do.

    Step: grid (`losses`), "sample": null, or its rate and whether a record is added; "orders" of
    `mechanisms`; "above"; "input", "adjacent": of machines from below, else null. Premises: of
    machines, distributions, or privacy for the same pairs at one eps; none of those that publish
    numbers, from below (`excesses`): "orders" is their eps.
    """
    grid, above = Grid(step), as_flag(step["above"], "a side")
    orders = [as_number(each, "an order") for each in as_list(step["orders"], "orders")]
    sample = _read_sample(step["sample"])
    with precision(grid.bits):
        match about, known:
            case Mechanism() as what, []:
                eps, pairs, pair = None, None, sampled(about.pair(orders, above), sample)
            case Proof(what), [] if what.reals and not above and len(orders) == 1 and orders[0] > 0:
                (eps,), both = orders, pair_of(about, step)
                pairs = None if about.pairs is None else frozenset([both])
                cells = named("excesses.cells")(what, eps, both, grid.step, grid.places, sample)
                pair = sampled(of_deltas({})._replace(outcomes=lambda _: cells), sample)
            case Proof(what), [Distributions(eps) as found]:
                inputs = [*pairs_of(about, 40)] if above else [pair_of(about, step)]
                pairs = None if about.pairs is None else frozenset(inputs)
                if above:
                    _reversible(what, pairs)
                pair = rows_of(found, sample)(*inputs)
            case Proof(what), [Private(Fraction() as eps) as first, *_] if above:
                pairs = None if first.pairs is None else frozenset(first.pairs)
                _reversible(what, pairs)
                pair = sampled(_known(first, known), sample)
            case _:
                raise BadProof("privacy or distributions of a machine are wanted, or a mechanism")
        losses = grid.above(pair.most) if above else grid.below(pair.outcomes)
        return LossesOf({Change(what, eps, pairs, sample): 1}, losses)


def adaptive(about: Proof, step: Step, found: Distributions) -> LossesOf:
    """H of runs of a machine, any two adjacent inputs in each, chosen by what came before.

    Theorem (`Adaptive`): from above, every pair is below the losses of one that is listed: these go
    through H and a margin at the knots, where H of the pair is at most that (`Grid.above`). Of real
    inputs nobody goes through every pair. From below, pairs that are listed are run.

    Step: grid (`losses`), "sample" as of `losses_of`, "above", "pairs", "margin" >= 0, "times",
    "reach". One premise: distributions for all inputs that are meant.
    """
    grid, above = Grid(step), as_flag(step["above"], "a side")
    margin, times = as_number(step["margin"], "a margin"), as_integer(step["times"], "times")
    reach, sample = as_integer(step["reach"], "a reach"), _read_sample(step["sample"])
    listed = read_pairs(step["pairs"], about.machine.domains)
    if margin < 0 or times < 1 or not listed or about.pairs is not None:
        raise BadProof("a margin below 0, no runs, no pairs, or not all are meant")
    if about.in_sets:
        raise Refuted("pairs of real inputs may each be below one of several, at every a another")
    with precision(grid.bits):
        rows, whole = rows_of(found, sample), Adaptive.of(grid, reach, above)
        if above:
            _reversible(about.machine, None)
            cost, every, values = 40 + len(listed) // 4, [*range(len(listed))], list[list[arb]]()
            fitting = dict.fromkeys(pairs_of(about, cost), every)
            for loss in grid.losses:
                most = [rows(inputs).most(loss) + to_ball(margin) for inputs in listed]
                values.append(most)
                for inputs, before in fitting.items():
                    spend(len(before) // 4)
                    own = rows(inputs).most(loss)
                    fitting[inputs] = [k for k in before if own <= most[k]]
            if not all(fitting.values()):
                raise Refuted("a pair is not below one that is listed")
            bounds = (dict(zip(grid.losses, own, strict=True)) for own in zip(*values, strict=True))
            chosen = [grid.above(own.__getitem__) for own in bounds]
        else:
            if not all(about.machine.adjacency.holds(*inputs) for inputs in listed):
                raise Refuted("the inputs are not adjacent")
            chosen = [grid.below(rows(inputs).outcomes) for inputs in listed]
        for _ in range(times):
            whole = whole.before(chosen)
        return LossesOf({Change(about.machine, found.eps, None, sample): times}, whole)


def _reversible(machine: Machine, pairs: frozenset[Inputs] | None) -> None:
    """Check that each pair that is meant has its reverse among them; None: all are."""
    if not (machine.adjacency.symmetric if pairs is None else pairs == {(v, u) for u, v in pairs}):
        raise BadProof("a pair without its reverse")


def _known(first: Private, known: Sequence[Private | Distributions]) -> Pair:
    points: dict[Fraction, Fraction] = {}
    for each in known:
        match each:
            case Private(first.eps, Fraction() as eps_prv, Fraction() as delta, first.pairs):
                points[eps_prv] = min(delta, points.get(eps_prv, delta))
            case _:
                raise BadProof("privacy for the same pairs at the same eps is wanted, in numbers")
    return of_deltas({t: to_ball(delta) for t, delta in points.items()})


def rows_of(found: Distributions, sample: tuple[Fraction, bool] | None) -> Callable[..., Pair]:
    """Return what tells pairs of inputs of a machine, best at losses one after the other: what is
    above all of some, with the outcomes of the first one."""
    at, unit = lru_cache(maxsize=1)(partial(largest_of, found)), Fraction(1, 1 << found.places)

    def row(input: Input) -> list[arb]:
        if input not in found.bounds:
            raise Refuted("an input has no distribution")
        both = zip(*found.bounds[input], strict=True)
        return [between(to_ball(a * unit), to_ball(b * unit)) for a, b in both]

    def pair(*pairs: Inputs) -> Pair:
        def most(loss: Fraction) -> arb:
            largest = at(loss)
            return to_ball(max([0, *(largest(*each) for each in pairs)]) * unit)

        return sampled(Pair(most, lambda _: list(zip(*map(row, pairs[0]), strict=True))), sample)

    return pair


def _read_sample(json: object) -> tuple[Fraction, bool] | None:
    if json is None:
        return None
    rate, added = as_list(json, "a sample", 2)
    return read_rate(rate), as_flag(added, "whether a record is added")


def composed(about: Proof | Pipeline, step: Step, one: LossesOf, other: LossesOf) -> LossesOf:
    """Losses of what follows each other, or is independent, are convolved (`losses`).

    Those of what is chosen as it goes stand first: the other ones run before them (`Adaptive`).

    Step: "cut": units of mass to be cut off, low and high.
    """
    low, high = (as_integer(each, "a cut") for each in as_list(step["cut"], "cuts", 2))
    times = Counter(one.times) + Counter(other.times)
    if isinstance(other.losses, Adaptive):
        raise BadProof("runs of which several are chosen from come first, and only once")
    if isinstance(one.losses, Adaptive):
        return LossesOf(times, one.losses.before([other.losses]))
    return LossesOf(times, one.losses.composed(other.losses, (low, high)))


def above_parts(about: Proof, step: Step, *premises: LossesOf | Of) -> LossesOf:
    """Losses that are above a change of a machine of independent parts.

    Theorem: H of every pair that is meant is at most that of losses above its way, so at most the
    largest one that some losses have (`Grid.above`). Premises as of `private`.
    """
    (whole, _, known), grid = _above(about, step, premises), Grid(step)
    pairs = None if about.pairs is None else frozenset(about.pairs)
    _reversible(about.machine, pairs)
    bounds = [own.deltas(grid.losses) for own in known if isinstance(own, Losses)]
    if len(bounds) < len(known):
        raise BadProof("runs of which several are chosen from are no parts")
    nothing = [Fraction(0)] * len(grid.losses)
    most = dict(zip(grid.losses, map(max, zip(nothing, *bounds, strict=True)), strict=True))
    with precision(grid.bits):
        losses = grid.above(lambda loss: to_ball(most[loss]))
    return LossesOf({Change(about.machine, whole.eps, pairs, None): 1}, losses)


def below_parts(about: Proof, step: Step, *premises: LossesOf | Of) -> LossesOf:
    """Losses that are below one: those below what changes for a pair; premises as of `violated`."""
    whole, pair, own = _below(about, step, premises)
    pairs = None if about.pairs is None or pair is None else frozenset([pair])
    return LossesOf({Change(about.machine, whole.eps, pairs, None): 1}, own.losses)


def private(about: Proof | Pipeline, step: Step, *premises: LossesOf | Of) -> Private:
    """delta <= H(e^eps_prv) of every way in which runs change, or parts of a machine.

    Premises: losses above changes, of which some cover every way; for every part what it does for
    all its inputs. Of a pipeline "parts" and "eps" are null.
    """
    eps_prv, delta = claimed(step)
    whole, count, known = _above(about, step, premises)
    if any(own.delta(eps_prv) > delta for own in known):
        raise Refuted("the bound of delta is larger")
    return Private(whole.eps, eps_prv, delta, whole.pairs, count, in_sets=True)


def _above(
    about: Proof | Pipeline, step: Step, premises: Iterable[LossesOf | Of]
) -> tuple[Pipeline | Parts, int, list[Losses | Adaptive]]:
    """Check that some losses cover every way; return what changes in how many, and all losses."""
    whole = _whole(about, step, premises)
    losses = [each for each in premises if isinstance(each, LossesOf)]
    if not all(each.losses.above for each in losses):
        raise BadProof("a premise is no losses from above")
    count = 0
    for way in whole.ways(change for own in losses for change in own.times):
        count += 1
        spend(10 * len(losses))
        covered = (all(own.times.get(c, 0) >= n for c, n in way.items()) for own in losses)
        if way and not any(covered):
            raise Refuted("no losses are above all that may change")
    return whole, count, [each.losses for each in losses]


def violated(about: Proof | Pipeline, step: Step, *premises: LossesOf | Of) -> Violated:
    """delta >= H(e^eps_prv) of some changes that are independent, and that is above delta.

    What further runs and parts reveal does not lower it. At every eps_prv, null, it is at least the
    mass at infinity; and above 0 if normal noise is among it, whose losses have no end.

    Premises: losses below changes of some way; for every part what it does for all its inputs.
    """
    eps_prv, delta = claimed(step, broken=True)
    whole, pair, own = _below(about, step, premises)
    always = eps_prv is None and not delta and has_no_end(own)
    if not always and own.losses.delta(eps_prv) <= delta:
        raise Refuted("the bound of delta is not larger")
    return Violated(whole.eps, eps_prv, delta, pair)


def has_no_end(own: LossesOf) -> bool:
    """Whether losses have no end: of normal noise, unless a record is added to a sample."""
    told = [each.what for each in own.times if each.sample is None or not each.sample[1]]
    return any(isinstance(what, Mechanism) and what.name in ("Gauss", "DGauss") for what in told)


def _below(
    about: Proof | Pipeline, step: Step, premises: Iterable[LossesOf | Of]
) -> tuple[Pipeline | Parts, Inputs | None, LossesOf]:
    """Check that so much changes for a pair as losses are below; return all three."""
    whole = _whole(about, step, premises)
    found = [each for each in premises if isinstance(each, LossesOf)]
    if len(found) != 1 or found[0].losses.above:
        raise BadProof("no losses from below, or several")
    times = found[0].times
    pair, ways = whole.ways_of(step, times)
    if not any(all(n <= way.get(c, 0) for c, n in times.items()) for way in ways):
        raise Refuted("not so much changes so")
    return whole, pair, found[0]


def _whole(
    about: Proof | Pipeline, step: Step, premises: Iterable[LossesOf | Of]
) -> Pipeline | Parts:
    """What changes: the runs of a pipeline, or the parts of a machine, of which enough is known."""
    if isinstance(about, Pipeline):
        if step["parts"] is not None or step["eps"] is not None:
            raise BadProof("a pipeline has no parts and no eps")
        return about
    eps, told = positive(step["eps"], "eps"), dict[Machine, Collection[Input]]()
    for each in premises:
        match each:
            case Of(machine, Distributions(bounds=known) as own) if own.eps == eps:
                told[machine] = known
            case Of(machine, ExactDistributions(values=known) as own) if own.epsilons.point == eps:
                told[machine] = known
    return Parts(about, step["parts"], eps, told)


# --- reading -------------------------------------------------------------------------------------


def read_pipeline(json: object) -> Pipeline:
    """Read a pipeline; Gaussian noise of all data is one run, the last one.

    Machines that publish noise and nothing else are mechanisms (`excesses.noise`).

    So are statements about divergences before it, which add up whatever is chosen by what came
    before: E y^t of all is the product of what it is at most after all that came (`divergences`).
    What else is run between them is a random function of one pair (Blackwell), which may as well
    come first: its H is the largest of all, and convex. Beside several pairs they stay runs.

    Theorem (Dong, Roth, Su 2022, corollary 3.3): laws N(m_k, 1) and N(0, 1), of so many runs, are
    N(m, 1) and N(0, 1) together, m^2 = sum of m_k^2, as what lies across the line of all m is the
    same. They dominate runs that depend on those before (`losses`), and independent runs have them.
    """
    record = as_record(json, "a pipeline", ("adjacency", "runs"))
    adjacency = as_word(record["adjacency"], "an adjacency", ("add/remove", "substitution"))
    runs, square, statements = [], Fraction(0), list[tuple[str, tuple[Any, ...], int]]()
    for each in as_list(record["runs"], "runs"):
        run = as_record(each, "a run", ("what", "subsample", "times"))
        times, what, eps = as_integer(run["times"], "times"), run["what"], None
        if times < 1:
            raise BadProof("no run")
        rate = None if run["subsample"] is None else read_rate(run["subsample"])
        if rate is not None and adjacency != "add/remove":
            raise BadProof("a sample of no record more")
        if isinstance(what, dict) and "machine" in what:
            own = as_record(what, "a program", ("machine", "eps"))
            what, eps = read_machine(own["machine"]), positive(own["eps"], "eps")
            if not what.adjacency.symmetric:
                raise BadProof("inputs are adjacent in one order only")
            noise = None
            with suppress(NotProved), budget(MOST_LOOKED):
                noise = named("excesses.noise")(what, eps) if what.reals else None
            if noise:
                what, eps = Mechanism(noise[0], (Fraction(1), 1 / noise[1])), None
        else:
            what = read_mechanism(what)
        match what, rate:
            case Mechanism("Gauss", [distance, variance]), None:
                square += times * distance**2 / variance
            case Mechanism("rdp" | "zcdp" as name, values), None:
                statements.append((name, values, times))
            case _:
                sample = None if rate is None else (rate, False)
                runs.append((Change(what, eps, None, sample), times))
    if any(isinstance(run.what, Machine) for run, _ in runs):
        sums = [([(name, values, 1)], times) for name, values, times in statements]
    else:
        sums = [(statements, 1)] if statements else []
    merged = [(Mechanism("divergences", tuple(summed)), times) for summed, times in sums]
    merged += [(Mechanism("Gauss", (Fraction(1), 1 / square)), 1)] if square else []
    runs += [(Change(what, None, None, None), times) for what, times in merged]
    return Pipeline(tuple(runs))


def read_rate(json: object) -> Fraction:
    """Read the rate of a sample."""
    rate = as_number(json, "a rate")
    if not 0 < rate <= 1:
        raise BadProof("no rate of a sample")
    return rate


def read_composed(json: object) -> Private | Violated:
    """Read a claim about a pipeline."""
    record = as_record(json, "the claim", ("verdict", "eps_prv", "delta"))
    kept = as_word(record["verdict"], "the verdict", ("DP", "Not_DP")) == "DP"
    numbers = claimed(record, not kept)
    return Private(None, *numbers, None) if kept else Violated(None, *numbers)
