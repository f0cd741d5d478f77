"""Proofs of budgets, compared with the texts that they are about.

Beside the fields of other proofs there is, in place of wider domains,

    "about": {"for all": null | parameter, "stops are seen": boolean}

the parameter that stands for any number of rounds, and whether it is seen that an automaton stops;
or of a service

    "about": {"seen by": [user, …]}

who sees its queries and replies together; nobody for everybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dipapprox.deferred import Deferred
from dipapprox.errors import NoCertificate, UserError
from dipapprox.kernel.reading import as_list, as_name, as_record, as_word
from dipapprox.language.core import Program
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIPA, DPG, parse_program
from dipapprox.language.services import Service, elaborate_service

if TYPE_CHECKING:
    from dipapprox.automata import description as descriptions
    from dipapprox.automata.model import Automaton
    from dipapprox.proof_steps import automata, rounds, services
else:
    descriptions = Deferred("dipapprox.automata.description")
    automata = Deferred("dipapprox.proof_steps.automata")
    rounds = Deferred("dipapprox.proof_steps.rounds")
    services = Deferred("dipapprox.proof_steps.services")


def differences(content: Mapping[str, Any], parameters: Mapping[str, Fraction]) -> list[str]:
    """Return what is false without any step: that the text means the machine, and the scope."""
    program = content["program"]
    if is_about_service(content):
        return _of_service(content, parameters)
    about = as_record(content["about"], "what it is about", ("for all", "stops are seen"))
    seen, for_all = about["stops are seen"], about["for all"]
    if not isinstance(seen, bool):
        return ["about: stops are seen, or they are not"]
    name = None if for_all is None else as_name(for_all, "a parameter")
    language = as_word(program["language"], "the language", (DPG, DIPA))
    try:
        subject = subject_of(program["text"], language, program["name"], parameters, name)
        if isinstance(subject, Program):
            machines = [rounds.rounds_json(subject)]
        else:
            machines = list(automata.machines_of(subject, seen, content["claim"]))
    except NoCertificate as none:
        return [f"program.text: {none.message}"]
    except UserError as error:
        return [f"program.text: it is not a program: {error.message}"]
    own = dict(subject.parameters) if isinstance(subject, Program) else {}
    if own != dict(parameters):
        return ["params: they are not those of the program"]
    if content["machine"] not in machines:
        return ["machine: it is not what the program's text means"]
    scope = scope_text(content["machine"])
    return [] if scope == content["scope"] else [f"scope: the proof is {scope}"]


def is_about_service(content: Mapping[str, Any]) -> bool:
    """Whether a proof says who sees the replies of a service."""
    return isinstance(content["about"], dict) and "seen by" in content["about"]


def _of_service(content: Mapping[str, Any], parameters: Mapping[str, Fraction]) -> list[str]:
    program = content["program"]
    about = as_record(content["about"], "what it is about", ("seen by",))
    users = [as_name(user, "a user") for user in as_list(about["seen by"], "users")]
    as_word(program["language"], "the language", (DPG,))
    try:
        service = service_of(program["text"], program["name"], parameters)
        machine = services.service_json(service, users)
    except NoCertificate as none:
        return [f"program.text: {none.message}"]
    except UserError as error:
        return [f"program.text: it is not a service: {error.message}"]
    if sorted({user for each in service.queries for user in each.users} & {*users}) != users:
        return ["about: users are not those of the service, in order"]
    if dict(service.parameters) != dict(parameters):
        return ["params: they are not those of the service"]
    if content["machine"] != machine:
        return ["machine: it is not what the service's text means"]
    scope = service_scope(machine, users)
    return [] if scope == content["scope"] else [f"scope: the proof is {scope}"]


def service_scope(machine: Mapping[str, Any], users: Sequence[str]) -> str:
    """Say what sequences of calls, and which pairs of them, a service is about."""
    change = {"insert": "one data call more or less", "replace": "another value in one data call"}
    seen = " and ".join(users) if users else "everybody"
    return (
        f"for every eps > 0 and every sequence of calls, {change[machine['change']]}, "
        f"as {seen} may see it"
    )


def service_of(text: str, name: str, parameters: Mapping[str, Fraction]) -> Service:
    """Read the text of a service again."""
    return elaborate_service(parse_program(text, DPG, name), parameters, name)


def caveat(content: Mapping[str, Any]) -> str | None:
    """Say what a proof about an automaton leaves out; `differences` has looked at it."""
    if is_about_service(content):
        return None
    unseen = content["program"]["language"] == DIPA and not content["about"]["stops are seen"]
    return "that it stops in a state where no guard holds is taken as unseen" if unseen else None


def scope_text(machine: Mapping[str, Any]) -> str:
    """Say what inputs, and which pairs of runs, a machine is about."""
    kind = "integers" if machine["whole"] else "real numbers"
    names = []
    for name, domain in machine["inputs"]:
        ends = [domain["low"], domain["high"]]
        bounds = "" if ends == [None, None] else f" from {ends[0]} to {ends[1]}"
        names.append(f"{name.removeprefix('next ')}{bounds}")
    norm = machine["adjacency"]
    adjacent = " ".join(str(norm[each]) for each in ("norm", "radius") if each in norm)
    rounds = "" if machine["round"] is None else "any number of rounds, "
    listed = ", ".join(names) or "nothing"
    return f"for every eps > 0, {rounds}{kind} for {listed}, adjacent {adjacent}"


def subject_of(
    text: str, language: str, name: str, parameters: Mapping[str, Fraction], for_all: str | None
) -> Program | Automaton:
    """Read a text again."""
    if language == DIPA:
        return descriptions.automaton_of(parse_dipa(text, name))
    parsed = parse_program(text, language, name)
    return elaborate(parsed, parameters, name, for_all=for_all)
