"""Proofs of budgets, compared with the texts that they are about.

Beside the fields of other proofs there is, in place of wider domains,

    "about": {"for all": null | parameter, "stops are seen": boolean}

the parameter that stands for any number of rounds, and whether it is seen that an automaton stops;
or of a service

    "about": {"seen by": [user, …]}

who sees its queries and replies together; nobody for everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

from dipapprox.automata import model as automata_model
from dipapprox.errors import NoCertificate, UserError
from dipapprox.kernel.errors import BadProof
from dipapprox.kernel.reading import as_list, as_name, as_record, as_word
from dipapprox.language.core import Program
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIPA, DPG, parse_program
from dipapprox.language.services import Service, elaborate_service
from dipapprox.proof_steps import automata, services
from dipapprox.proof_steps.machines import rounds_json


def differences(content: Mapping[str, Any], parameters: Mapping[str, Fraction]) -> list[str]:
    """Return what is false without any step: that the text means the machine, and the scope."""
    what = "service" if is_about_service(content) else "program"
    try:
        subject, machines, scope = meant(
            content["about"], content["program"], parameters, content["claim"]
        )
    except NoCertificate as none:
        return [f"program.text: {none.message}"]
    except UserError as error:
        return [f"program.text: it is not a {what}: {error.message}"]
    if isinstance(subject, Service):
        named = {user for each in subject.queries for user in each.users}
        if sorted(named.intersection(content["about"]["seen by"])) != content["about"]["seen by"]:
            return ["about: users are not those of the service, in order"]
    own = subject.parameters if isinstance(subject, Program | Service) else {}
    if dict(own) != dict(parameters):
        return [f"params: they are not those of the {what}"]
    if content["machine"] not in machines:
        return [f"machine: it is not what the {what}'s text means"]
    return [] if scope == content["scope"] else [f"scope: the proof is {scope}"]


def meant(
    about: object, program: Mapping[str, str], parameters: Mapping[str, Fraction], claim: Any
) -> tuple[Program | automata_model.Automaton | Service, Iterable[Any], str]:
    """Read a text again; return that, the machines that it may mean, and their scope."""
    text, name = program["text"], program["name"]
    if isinstance(about, dict) and "seen by" in about:
        said = as_record(about, "what it is about", ("seen by",))
        users = [as_name(user, "a user") for user in as_list(said["seen by"], "users")]
        language = as_word(program["language"], "the language", (DPG,))
        service = elaborate_service(parse_program(text, language, name), parameters, name)
        machine = services.service_json(service, users)
        return service, [machine], _service_scope(machine, users)
    said = as_record(about, "what it is about", ("for all", "stops are seen"))
    seen, for_all = said["stops are seen"], said["for all"]
    if not isinstance(seen, bool):
        raise BadProof("about: stops are seen, or they are not")
    parameter = None if for_all is None else as_name(for_all, "a parameter")
    language = as_word(program["language"], "the language", (DPG, DIPA))
    if language == DIPA:
        automaton = automata_model.automaton_of(parse_dipa(text, name))
        machines = automata.machines_of(automaton, seen, claim)
        first = next(machines)
        return automaton, chain([first], machines), _scope(first)
    parsed = parse_program(text, language, name)
    subject = elaborate(parsed, parameters, name, for_all=parameter)
    machine = rounds_json(subject)
    return subject, [machine], _scope(machine)


def is_about_service(content: Mapping[str, Any]) -> bool:
    """Whether a proof says who sees the replies of a service."""
    return isinstance(content["about"], dict) and "seen by" in content["about"]


def caveat(content: Mapping[str, Any]) -> str | None:
    """Say what a proof about an automaton leaves out; `differences` has looked at it."""
    if is_about_service(content):
        return None
    unseen = content["program"]["language"] == DIPA and not content["about"]["stops are seen"]
    return "that it stops in a state where no guard holds is taken as unseen" if unseen else None


def _service_scope(machine: Mapping[str, Any], users: Sequence[str]) -> str:
    """Say what sequences of calls, and which pairs of them, a service is about."""
    change = {"insert": "one data call more or less", "replace": "another value in one data call"}
    seen = " and ".join(users) if users else "everybody"
    return (
        f"for every eps > 0 and every sequence of calls, {change[machine['change']]}, "
        f"as {seen} may see it"
    )


def _scope(machine: Mapping[str, Any]) -> str:
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
