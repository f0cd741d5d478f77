"""The law: what a new answer may be where an old one is known.

A new answer meets the old one. Enclosures have numbers in common and are not much wider, no verdict
flips, none becomes Unknown, bad input stays bad input, what was proved is. An answer that says more
is welcome.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import inf

from tests.corpus.answers import PROVED, Answer, Number, meets, number, printed_unit, width

VERDICTS = ("DP", "Not_DP")

MOST_WIDER = 10
"""Times an enclosure may be as wide as before, and a unit of the last digit printed; and as wide as
was asked for. Where there is a verdict, it may be as wide as the verdict allows."""

ASKED_OF_PROFILE = Fraction(1, 10**9)
"""The width that `profile` is asked for by default; of δ, δ/10^12."""

ASKED_OF_COMPOSE = Fraction(1, 1000)
"""The width that `compose` is asked for by default: this share of δ, this much of ε_prv."""

LEAST_OF_COMPOSE = Fraction(1, 10**30)
"""Searches of `compose` for a δ end there: where in that they end is an accident."""

NOTICED = 2
"""Times as long as before: reported, where it is more than `FREE` seconds longer."""

ALLOWED = 5
"""Times as long as before, and `SPARE` seconds: more breaks the law."""

FREE = 0.3
SPARE = 2.0


class Kind(Enum):
    """What a new answer is to the old one; those of `BROKEN` break the law."""

    DECIDED = "newly decided"
    NARROWER = "narrower"
    SLOWER = "slower"
    WIDER = "WIDER"
    LOST = "LOST"
    APART = "APART"
    FLIPPED = "FLIPPED"
    CHANGED = "CHANGED"
    TOO_SLOW = "TOO SLOW"


MORE = {Kind.DECIDED, Kind.NARROWER}
"""What is welcome."""

BROKEN = {Kind.WIDER, Kind.LOST, Kind.APART, Kind.FLIPPED, Kind.CHANGED, Kind.TOO_SLOW}


@dataclass(frozen=True)
class Finding:
    """One difference, and its words."""

    kind: Kind
    words: str


def compare(old: Answer, new: Answer, words: Sequence[str] = ()) -> list[Finding]:
    """Compare two answers to one question; no finding where the new one meets the old one.

    Args:
        old: What was answered.
        new: What is answered now.
        words: The question.
    """
    if old.verdict != new.verdict and {old.verdict, new.verdict} == set(VERDICTS):
        return [Finding(Kind.FLIPPED, f"{old.verdict} became {new.verdict}")]
    if old.status == 2 or new.status == 2:
        return _compare_bad_input(old, new)
    found = []
    if old.verdict in VERDICTS and new.verdict not in VERDICTS:
        found.append(Finding(Kind.LOST, f"{old.verdict} became {new.verdict}"))
    elif new.verdict in VERDICTS and old.verdict not in VERDICTS:
        found.append(Finding(Kind.DECIDED, f"{old.verdict} became {new.verdict}"))
    elif old.status != new.status:
        kind = Kind.DECIDED if (old.status, new.status) == (3, 0) else Kind.LOST
        found.append(Finding(kind, f"status {old.status} became {new.status}"))
    both = "--proved" in words or None not in (old.proof, new.proof)
    if both and old.proof != new.proof and PROVED in (old.proof, new.proof):
        kind = Kind.DECIDED if new.proof == PROVED else Kind.LOST
        found.append(Finding(kind, f"{old.proof} became {new.proof}"))
    if old.witness is not None and new.witness is None:
        found.append(Finding(Kind.LOST, "there is no witness any more"))
    if old.verdict != new.verdict:
        return found  # what was enclosed is not the same any more
    for place, ends in old.ends.items():
        # δ of a violation belongs to its witness.
        of_witness = old.verdict == "Not_DP" and place == "delta_enclosure"
        if not of_witness or old.witness == new.witness:
            enough = inf if old.verdict in VERDICTS else asked_width(words, place, ends)
            found += _compare_ends(place, ends, new.ends.get(place), enough)
    return found


def asked_width(words: Sequence[str], place: str, ends: tuple[str, str]) -> Number:
    """Return how wide an enclosure may be by what was asked; 0 where the law alone says."""
    if "--width" in words and words[0] != "calibrate":
        return Fraction(words[words.index("--width") + 1])
    if words[:1] == ("profile",):
        return ASKED_OF_PROFILE if "delta" not in place else number(ends[1]) / 10**12
    if words[:1] == ("compose",):
        if "delta" in place:
            return max(ASKED_OF_COMPOSE * number(ends[1]), LEAST_OF_COMPOSE)
        return ASKED_OF_COMPOSE
    return Fraction(0)


def _compare_bad_input(old: Answer, new: Answer) -> list[Finding]:
    if old.status != new.status:
        kind = Kind.DECIDED if old.verdict is None and new.verdict in VERDICTS else Kind.CHANGED
        return [Finding(kind, f"status {old.status} became {new.status}")]
    return []


def _compare_ends(
    place: str, old: tuple[str, str], new: tuple[str, str] | None, enough: Number
) -> list[Finding]:
    if new is None:
        return [Finding(Kind.LOST, f"{place} is not enclosed any more")]
    words = f"{place} [{', '.join(old)}] became [{', '.join(new)}]"
    if not meets(old, new):
        return [Finding(Kind.APART, words)]
    if width(new) > max(MOST_WIDER * width(old) + printed_unit(old), enough):
        return [Finding(Kind.WIDER, words)]
    if MOST_WIDER * width(new) + printed_unit(new) < width(old):
        return [Finding(Kind.NARROWER, words)]
    return []


def compare_seconds(old: float, new: float) -> list[Finding]:
    """Compare the work of two answers, both in seconds of one machine."""
    words = f"{old:.2f} s became {new:.2f} s"
    if new > ALLOWED * old + SPARE:
        return [Finding(Kind.TOO_SLOW, words)]
    if new > NOTICED * old + FREE:
        return [Finding(Kind.SLOWER, words)]
    return []
