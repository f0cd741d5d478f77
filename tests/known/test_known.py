"""What is known of programs from elsewhere: closed forms, published numbers, budgets by hand.

The files beside this one have entries: a program, or `file NAME` and parameters of one that is
shipped; below `-----` what is known of it, a line each:

    delta at eps = 1, eps_prv = 1/4: 1 - exp(-1/8)     the least one, as an expression in Python
    eps_prv at eps = 1, delta = 0: log(3)              so too
    divergence of order 2 at eps = 1: log(5/4)         Rényi's
    noise for eps_prv = 1, delta = 0: 2                the least eps that a calibration finds
    probability of 1 at eps = 1, input = 0: 1/6        of one output
    budget: DP 1/2                                     of `prove`: the answer, and both ends;
                                                       words of the reason behind a semicolon
    claim: DP at eps = 1, delta = 0                    as claims stand with programs
    unknown at eps = 1, delta = 0: ties                words of the reason
    refused at eps = 1, delta = 0: 4: no input         the line, and words of the message

What is known of pipelines, which are written as in files, begins with `composed`.

`± 1e-3` behind a value says how well it is known; `thorough` in front of a line leaves it to
`make thorough`. `make test` asks one claim beside a value, not one on either side, and half of
several claims about a program.
"""

import math
import re
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from scipy.stats import gumbel_r, laplace, logistic, norm

import dipapprox
from dipapprox import Answer, Options, RealProof, UserError
from dipapprox.questions.claims import ClaimOutcome, read_claims, try_claim
from tests import moved_noise
from tests.cases import THOROUGH, text_of
from tests.proofs.confirmation import confirm

LAWS = {"norm": norm, "logistic": logistic, "lap": laplace, "gumbel": gumbel_r}
SCIPY = {**LAWS, "quad": quad, "brentq": brentq, "minimize": minimize}
NAMES = {**vars(math), **vars(moved_noise), **SCIPY, "Fraction": Fraction}
"""What values are made of."""

ERROR = Fraction(1, 10**12)
"""Of values in doubles, where nothing else is said."""


KINDS = "(composed )?(delta|eps_prv) at|(unknown|refused) at|(probability|divergence) of|noise for|"
KINDS += "budget:|claim:"


def known(begin: str) -> list[Any]:
    """Return what begins so: the program, its parameters, the question and the answer."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        *entries, rest = path.read_text(encoding="utf-8").split("=====\n")
        assert entries and not rest
        for number, entry in enumerate(entries, 1):
            text, _, lines = entry.partition("-----\n")
            for place, line in enumerate(lines.splitlines(), number):
                dear, asked = line.startswith("thorough "), line.removeprefix("thorough ")
                assert re.match(KINDS, asked), line
                dear |= asked.startswith("claim") and place % 2 == 1 and "\n" in lines.strip()
                if asked.startswith(begin) and (THOROUGH or not dear):
                    row = *program_of(text), *(each.strip() for each in asked.split(":", 1))
                    found.append(pytest.param(*row, id=f"{path.stem} {number}: {asked}"))
    return found


def program_of(text: str) -> tuple[str, dict[str, str]]:
    """Return the text of a program, and its parameters."""
    first, *lines = (line for line in text.splitlines() if not line.startswith("#"))
    if not first.startswith("file "):
        return "\n".join((first, *lines, "")), {}
    _, name, *settings = first.replace(" = ", "=").split()
    return text_of(name), dict(each.split("=") for each in settings)


def settings(question: str) -> dict[str, str]:
    """Read what stands behind "at" or "for"."""
    return dict(each.split(" = ") for each in re.split(" at | for ", question)[1].split(", "))


def value_of(text: str) -> tuple[Any, Fraction]:
    """Return a value, and how far it may be off."""
    expression, _, error = text.partition(" ± ")
    value = eval(expression, NAMES)
    return value, Fraction(error or (ERROR if isinstance(value, float) else 0))


Side = tuple[Fraction, Answer]
"""What may be claimed, and what is answered."""


def some_of(kept: Side, broken: Side, value: str) -> list[Side]:
    """Return what is asked of two claims around a value: one of them, unless all is asked."""
    possible = [each for each in (kept, broken) if each[0] >= 0]
    return possible if THOROUGH else [possible[len(value) % len(possible)]]


@pytest.mark.parametrize(("text", "parameters", "question", "value"), known("delta at"))
def test_least_deltas(text, parameters, question, value) -> None:
    """Narrowly enclosed, and claims a hair away are decided."""
    program, given = dipapprox.parse(text, parameters), settings(question)
    found = dipapprox.profile(program, **given)
    ends, (truth, error) = found.delta_enclosure, value_of(value)
    truth = Fraction(truth)
    assert found.reason is None and ends.width < max(Fraction(1, 10**9), error)
    assert ends.lower - error <= truth <= ends.upper + error
    hair = max(Fraction(1, 10**6), 2 * error)
    for claimed, answer in some_of((truth + hair, Answer.DP), (truth - hair, Answer.NOT_DP), value):
        assert dipapprox.verify(program, **given, delta=claimed).answer is answer


@pytest.mark.parametrize(("text", "parameters", "question", "value"), known("eps_prv at"))
def test_least_budgets_at_one_epsilon(text, parameters, question, value) -> None:
    program, given = dipapprox.parse(text, parameters), settings(question)
    found = dipapprox.profile(program, **given)
    ends, (truth, error) = found.eps_prv_enclosure, value_of(value)
    assert found.reason is None and ends.infinite == (truth == math.inf)
    if ends.infinite:
        return
    assert ends.lower - error <= truth <= ends.upper + error
    assert ends.upper - ends.lower < Fraction(1, 10**9)
    if error > ERROR:
        return  # claims near large budgets stay open
    hair = Fraction(1, 10**6)
    kept, broken = (ends.upper, Answer.DP), (ends.lower - hair, Answer.NOT_DP)
    for claimed, answer in some_of(kept, broken, value):
        assert dipapprox.verify(program, **given, eps_prv=claimed).answer is answer


@pytest.mark.parametrize(("text", "parameters", "question", "value"), known("divergence of"))
def test_divergences(text, parameters, question, value) -> None:
    found = dipapprox.profile(
        dipapprox.parse(text, parameters), renyi=question.split()[3], **settings(question)
    )
    ends, (truth, error) = found.orders[0].divergence, value_of(value)
    assert ends.upper - ends.lower <= Fraction(1, 10**9)
    assert ends.lower - error <= truth <= ends.upper + error


@pytest.mark.parametrize(("text", "parameters", "question", "value"), known("noise for"))
def test_calibrations(text, parameters, question, value) -> None:
    asked = {"width": "1e-6", **settings(question)}
    found = dipapprox.calibrate(dipapprox.parse(text, parameters), **asked)
    low, high, (truth, error) = found.certified.eps, found.refuted.eps, value_of(value)
    assert found.reason is None and high - low <= high * Fraction(asked["width"])
    assert low - error <= truth <= high + error


@pytest.mark.parametrize(("text", "parameters", "question", "value"), known("composed"))
def test_pipelines(text, parameters, question, value) -> None:
    """Narrowly enclosed; claims outside are decided."""
    given, spec = settings(question), tomllib.loads(text)
    composed = dipapprox.compose(spec["run"], adjacency=spec.get("adjacency"))
    low, _, high = value.partition(" .. ")
    truth, error = value_of(low)
    if "eps_prv" in given:
        found = composed.delta(given["eps_prv"])
        ends = found.delta_enclosure
        assert ends.width <= ends.upper / 1000
        broken = ends.lower / 2 or Fraction(-1), Answer.NOT_DP
        for end, answer in some_of((ends.upper * 2, Answer.DP), broken, value):
            assert composed.verify(given["eps_prv"], end).answer is answer
    else:
        found = composed.epsilon(given["delta"])
        ends = found.eps_prv_enclosure
        if ends.infinite or truth == math.inf:
            assert ends.infinite and truth == math.inf
            return
        assert ends.upper - ends.lower <= Fraction(1, 1000)
        broken = ends.lower * Fraction(999, 1000) or Fraction(-1), Answer.NOT_DP
        for end, answer in some_of((ends.upper, Answer.DP), broken, value):
            assert composed.verify(end, given["delta"]).answer is answer
    assert found.reason is None
    if high:  # what others prove holds ours
        assert Fraction(truth) <= ends.lower <= ends.upper <= Fraction(high)
    else:
        assert ends.lower - error <= truth <= ends.upper + error


@pytest.mark.parametrize(("text", "parameters", "question", "value"), known("probability of"))
def test_chances(text, parameters, question, value) -> None:
    """Of finite outputs, to 40 bits."""
    output, (truth, error) = question.split()[2], value_of(value)
    found = dipapprox.probability(dipapprox.parse(text, parameters), **settings(question))
    told = {",".join(map(str, each.output)): each.probability for each in found.outputs}
    (one,) = (own for name, own in told.items() if f"{name},".startswith(f"{output},"))
    assert one.width <= Fraction(1, 2**40)
    assert one.lower - error <= truth <= one.upper + error


@pytest.mark.parametrize(("text", "parameters", "word", "value"), known("budget"))
def test_budgets_for_every_epsilon(text, parameters, word, value) -> None:
    """Both ends, as long as there are two; the kernel confirms them, and claims are decided."""
    value, _, words = value.partition("; ")
    answer, lower, upper = f"{value} None".split()[:3]
    streams = re.search("^stream ", text, re.MULTILINE)
    given = {} if streams else {"reals": True}
    program = dipapprox.parse(text, parameters)
    proof = dipapprox.prove(program, **given)
    least = None if upper == "None" else Fraction(upper)
    assert proof.answer.value == answer, proof.reason
    assert words in str(proof.reason)
    assert (proof.lower, proof.upper) == (Fraction(lower), least)
    if not isinstance(proof, RealProof):
        assert proof.has_none == (answer == "Not_DP")
    else:
        if proof.lower and not proof.subject.real_outputs:
            confirm(proof)
        if proof.is_exact and least:
            assert proof.reason is None and sum(each.cost for each in proof.coupling) == least
        refuted_between(text, proof)
    if least is not None:
        other = Answer.NOT_DP if proof.is_exact else Answer.UNKNOWN
        less = least - Fraction(1, 1000)
        for claimed, answer in some_of((least, Answer.DP), (less, other), text):
            assert dipapprox.prove(program, budget=claimed, **given).answer is answer


def refuted_between(text: str, proof: RealProof) -> None:
    """The two inputs alone, at a large eps or a small one, refute what is a little less."""
    found, domains = proof.between, re.findall(r"in (real [^\s]*)", text)
    if found is None or found.is_ray or len(domains) != 1 or not found.loss == proof.lower > 0:
        return
    values = sorted({*found.first, *found.second})
    some = text.replace(domains[0], "{" + ", ".join(map(str, values)) + "}")
    eps = Fraction(100 if found.eps is None else found.eps or "1/100")
    asked = {"eps": eps, "eps_prv": eps * Fraction(9, 10) * proof.lower, "delta": 0}
    assert dipapprox.verify(dipapprox.parse(some), **asked).answer is Answer.NOT_DP


@pytest.mark.parametrize(("text", "parameters", "word", "claim"), known("claim"))
def test_claims(text, parameters, word, claim, tmp_path) -> None:
    path = tmp_path / "known.dpg"
    path.write_text(text, encoding="utf-8")
    given = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    line = claim + (", " if " at " in claim else " at ") * bool(given) + given
    (stated,) = read_claims(f"# {word}: {line}\n", "known")
    tested = try_claim(stated, path, Options())
    assert tested.outcome is ClaimOutcome.HOLDS, tested.message


@pytest.mark.parametrize(("text", "parameters", "question", "words"), known("unknown"))
def test_what_is_left_open(text, parameters, question, words) -> None:
    """Of an interval nothing is proved."""
    found = dipapprox.verify(dipapprox.parse(text, parameters), **settings(question))
    assert found.answer is Answer.UNKNOWN
    assert words in found.run.reason
    if ".." in settings(question)["eps"]:
        assert "..".join(map(str, *found.remaining)) == settings(question)["eps"]


@pytest.mark.parametrize(("text", "parameters", "question", "words"), known("refused"))
def test_what_is_refused(text, parameters, question, words) -> None:
    line, _, message = words.partition(": ")
    with pytest.raises(UserError, match=message) as error:
        dipapprox.verify(dipapprox.parse(text, parameters), **settings(question))
    assert f":{line}:" in str(error.value)
