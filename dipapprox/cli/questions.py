"""The flags of `profile` that say what is asked, read into a question."""

from __future__ import annotations

import argparse
from fractions import Fraction

from dipapprox.errors import UserError
from dipapprox.language.values import parse_rational
from dipapprox.privacy.intervals.claim_text import is_formula
from dipapprox.privacy.profiles.question import (
    DEFAULT_WIDTH,
    AtBudget,
    AtDelta,
    AtOrders,
    OnCurve,
    Order,
    Question,
)


def add_question(parser: argparse.ArgumentParser) -> None:
    """Add --eps-prv, --delta, --curve, --renyi and --width."""
    group = parser.add_argument_group("question (one of these; default: --eps-prv EPS)")
    group.add_argument("--eps-prv", metavar="P", help="the least δ for this budget: 1/2, log(3)")
    group.add_argument(
        "--delta", metavar="D", help="the least ε_prv for this δ in [0, 1]; 0 asks for pure privacy"
    )
    group.add_argument(
        "--curve",
        metavar="LO:HI:COUNT",
        help="the whole profile for ε_prv from LO to HI, certified at COUNT points and between",
    )
    group.add_argument(
        "--renyi",
        metavar="ORDERS",
        help="Rényi divergences: orders >= 1 and inf, as in 1,3/2,2,8,inf; also bounds zCDP's ρ",
    )
    parser.add_argument(
        "--width", metavar="W", help="wanted width of enclosures (default: 1e-9; of δ, δ/10^12)"
    )


def question_of(words: argparse.Namespace, epsilon: Fraction) -> Question:
    """Read the flags of `add_question`.

    Raises:
        UserError: If they ask for several things, or a value is malformed or out of range.
    """
    asked = [
        flag
        for flag, value in (
            ("--eps-prv", words.eps_prv),
            ("--delta", words.delta),
            ("--curve", words.curve),
            ("--renyi", words.renyi),
        )
        if value is not None
    ]
    if len(asked) > 1:
        raise UserError(f"one question at a time, got {' and '.join(asked)}")
    width = None if words.width is None else parse_rational(words.width, "width")
    if words.curve is not None:
        if width is not None:
            raise UserError("--width does not go with --curve", "ask for more points instead")
        return _curve(words.curve)
    if words.delta is not None:
        return AtDelta(parse_rational(words.delta, "delta"), _width(width))
    if words.renyi is not None:
        return AtOrders(_orders(words.renyi), _width(width))
    if words.eps_prv is None:
        return AtBudget(epsilon, width)
    if is_formula(words.eps_prv):
        return AtBudget(words.eps_prv, width)
    return AtBudget(parse_rational(words.eps_prv, "eps_prv"), width)


def _width(width: Fraction | None) -> Fraction:
    """Return the width of budgets and divergences."""
    return DEFAULT_WIDTH if width is None else width


def _curve(text: str) -> OnCurve:
    parts = text.split(":")
    if len(parts) != 3:
        raise UserError(f"--curve needs LO:HI:COUNT, got '{text}'", "for example 0:1.5:200")
    low, high = (parse_rational(part, "the curve's budget") for part in parts[:2])
    count = parse_rational(parts[2], "the curve's number of points")
    if count.denominator != 1:
        raise UserError(f"the curve's number of points must be whole, got {count}")
    return OnCurve(low, high, int(count))


def _orders(text: str) -> tuple[Order, ...]:
    orders: list[Order] = []
    for part in text.split(","):
        if part.strip() == "inf":
            orders.append("inf")
        else:
            orders.append(parse_rational(part, "a Rényi order"))
    return tuple(orders)
