"""Whether answers about one program agree with each other, whoever gave them.

At one ε of a program, δ is a function of ε_prv that never increases. Every answer bounds it
somewhere, from above or from below:

    verify DP at (ε_prv, δ)           δ(ε_prv) <= δ         Not_DP    δ(ε_prv) > δ
    profile, least δ in [a, b]        a <= δ(ε_prv) <= b
    profile, least ε_prv in [a, b]    δ(b) <= δ, and δ(x) >= δ for all x < a
    decide DP, budget t               δ(t ε) <= δ at every ε of the interval
    prove, least budget at most t     δ(t ε) <= 0

A lower bound at x contradicts a smaller upper bound at y <= x. What is asked of listed pairs only
bounds from below.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from tests.corpus.answers import Number, number
from tests.corpus.store import Row

_ALONE = (*("--no-merge", "--reals", "--least-delta", "--violations", "--no-optimize", "--proved"),)

Key = tuple[str, ...]
"""A program: its file, its parameters and domains."""


@dataclass(frozen=True)
class Bound:
    """δ(at) is at most, or at least, a number; `row` says so.

    Attributes:
        eps: The program's; None for every one, where `at` is a multiple of it.
    """

    eps: Fraction | None
    at: Number
    delta: Number
    row: Row


def contradictions(rows: Iterable[Row]) -> list[tuple[Bound, Bound]]:
    """Return pairs of bounds that cannot both hold, an upper one first."""
    above: dict[Key, list[Bound]] = defaultdict(list)
    below: dict[Key, list[Bound]] = defaultdict(list)
    for row in rows:
        read = _read(row)
        if read is not None:
            key, flags = read
            for is_upper, bound in _bounds(row, flags):
                (above if is_upper else below)[key].append(bound)
    return [
        (most, least)
        for key in above
        for most in above[key]
        for least in below[key]
        if _contradict(most, least)
    ]


def _contradict(most: Bound, least: Bound) -> bool:
    at, eps = most.at, most.eps
    if least.eps is None:
        return False
    if eps is None:
        at = at * least.eps
    elif eps != least.eps:
        return False
    return at <= least.at and most.delta < least.delta


def _read(row: Row) -> tuple[Key, dict[str, str]] | None:
    """Return what a command line is about, and its flags; None where it is for others."""
    command, *rest = row.words
    if command not in ("verify", "profile", "decide", "prove") or row.answer.status == 2:
        return None
    flags: dict[str, str] = {"command": command}
    key: list[str] = []
    words = iter(rest)
    for word in words:
        if word in _ALONE:
            flags[word] = "yes"
        elif word.startswith("-"):
            name, equals, value = word.partition("=")
            value = value if equals else next(words, "")
            if name in ("-p", "--param", "--widen", "--rounds", "--values"):
                key.append(f"{name} {value}")
            else:
                flags[name] = value
        else:
            key.append(word)
    return tuple(sorted(key)), flags


def _bounds(row: Row, flags: dict[str, str]) -> Iterator[tuple[bool, Bound]]:
    """Yield what a row says: (whether from above, the bound)."""
    whole = flags.get("--pairs", "all") == "all"
    verdict, ends = row.answer.verdict, row.answer.ends
    match flags["command"]:
        case "verify" | "profile" if not _is_number(flags.get("--eps")):
            return
        case "verify":
            eps = Fraction(flags["--eps"])
            at, delta = flags.get("--eps-prv", flags["--eps"]), flags["--delta"]
            if not _is_number(at) or not _is_number(delta):
                return
            if verdict == "DP" and whole:
                yield True, Bound(eps, Fraction(at), Fraction(delta), row)
            if verdict == "Not_DP":
                yield False, Bound(eps, Fraction(at), _more(Fraction(delta)), row)
            found = ends.get("delta_enclosure")
            if found is not None:
                if whole and verdict != "Not_DP":
                    yield True, Bound(eps, Fraction(at), number(found[1]), row)
                yield False, Bound(eps, Fraction(at), number(found[0]), row)
        case "profile":
            eps = Fraction(flags["--eps"])
            yield from _of_profile(row, flags, eps, whole)
        case "decide" if verdict == "DP" and whole and "--interval" not in flags:
            if _is_number(delta := flags.get("--delta", "0")):
                yield True, Bound(None, Fraction(flags.get("--budget", "1")), Fraction(delta), row)
        case "prove" if "least_budget" in ends and "--stops" not in flags:
            if _is_number(ends["least_budget"][1]):
                yield True, Bound(None, number(ends["least_budget"][1]), Fraction(0), row)


def _of_profile(
    row: Row, flags: dict[str, str], eps: Fraction, whole: bool
) -> Iterator[tuple[bool, Bound]]:
    for place, (low, high) in row.answer.ends.items():
        if place == "eps_prv_enclosure" and _is_number(flags.get("--delta")):
            delta = Fraction(flags["--delta"])
            if whole and high != "inf":
                yield True, Bound(eps, number(high), delta, row)
            if number(low) > 0:
                before = number(low) - Fraction(1, 10**30) if low != "inf" else inf
                yield False, Bound(eps, before, delta, row)
        elif place == "delta_enclosure" or place.startswith("curve."):
            named = re.search(r'curve\."(.*)"\.', place)
            at = named[1] if named else flags.get("--eps-prv", flags["--eps"])
            if _is_number(at):
                if whole:
                    yield True, Bound(eps, Fraction(at), number(high), row)
                yield False, Bound(eps, Fraction(at), number(low), row)


def _more(delta: Fraction) -> Fraction:
    """Return a number as near as we tell numbers apart: more than δ is shown to be exceeded."""
    return delta + Fraction(1, 10**40)


def _is_number(text: str | None) -> bool:
    try:
        Fraction(text or "")
    except ValueError:
        return False
    return True
