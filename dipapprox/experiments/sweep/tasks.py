"""What a case can ask: the questions that can be swept, the keys of each, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.values import read_domain
from dipapprox.limits import Limits
from dipapprox.questions import kinds
from dipapprox.questions.argument import Argument
from dipapprox.questions.calibrate import Calibrate
from dipapprox.questions.compose import Compose
from dipapprox.questions.computing import computing_arguments, read_options
from dipapprox.questions.decide import Decide
from dipapprox.questions.profile import Profile
from dipapprox.questions.question import Question, arguments_of, read
from dipapprox.questions.verify import Verify

Fields = Mapping[str, str]
"""The fields of a case, as texts."""

TASKS: dict[str, type[Question]] = {
    question.name: question for question in (Verify, Profile, Calibrate, Decide, Compose)
}
"""The tasks by name."""

_WIDEN = Argument(
    "widen", read_domain, "DOMAIN", "a wider domain of the inputs", None, False, True, ""
)


def keys_of(task: str) -> tuple[Argument, ...]:
    """Return the keys of a task's grids, in the order of the columns of results."""
    question = TASKS[task]
    declared = (*arguments_of(question), *computing_arguments(question.computing))
    own = tuple(each for each in declared if each.swept)
    return (*own, _WIDEN)


def check_key(key: Argument, value: str, where: str) -> None:
    """Check a value, as far as can be without a program; `where` is in the spec."""
    # Files would have to exist wherever a case runs.
    if key.read is kinds.pairs and value not in ("all", "single") and "~" not in value:
        hint = 'use all, single or "0,0~0,1; 0,0~1,0"'
        raise UserError(f"{where}: '{value}' names no pairs", hint)
    key.read(value, where)


def check_keys(task: str, given: set[str], where: str) -> None:
    """Check that the keys of a grid are enough, and go together."""
    for key in keys_of(task):
        if key.required and key.name not in given:
            raise UserError(f"{where}: '{key.name}' is missing", f"{task} needs {key.help}")
    TASKS[task].check(given, lambda name: f"{where}: {name}")


def claimed_delta(task: str, fields: Fields) -> Fraction | None:
    """Return the exact δ that a case claims or asks about: what `delta` in a program is."""
    given = {name: fields[name] for name in ("eps", "delta") if name in fields}
    if "delta" not in given or "delta" not in {each.name for each in arguments_of(TASKS[task])}:
        return None
    if TASKS[task] is Verify and "eps" in given:
        return read(Verify, given, str).exact_delta
    delta = kinds.claimed_delta(given["delta"], "delta")
    return delta if isinstance(delta, Fraction) else None


def answer(program: Program, task: str, fields: Fields, limits: Limits) -> dict[str, object]:
    """Answer one case; return the fields of the answer's JSON object.

    Limits that are reached are raised where the task has no Unknown.
    """

    def spelled(name: str) -> str:
        return name

    options = read_options(fields, spelled, limits)
    return read(TASKS[task], fields, spelled).answer(program, options).to_dict()
