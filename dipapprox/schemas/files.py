"""The files of proofs, and what `check` and `prove` say of them, as types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from dipapprox.schemas.answers import (
    VERDICTS,
    Count,
    Digest,
    Enclosure,
    Hash,
    Line,
    Nothing,
    Proved,
    Rational,
    Reasons,
    Seconds,
    Something,
    Statement,
    Text,
    kinds_of,
)

Object = Annotated[dict[str, Any], Meta(description="read by the kernel: see the documentation")]


class ProgramOfProof(Statement, frozen=True):
    """A program's text and its hash."""

    name: Line
    language: Literal["dpg", "dip", "dipa"]
    text: str
    sha256: Hash


class VersionsOfProof(Statement, frozen=True):
    """What computed a proof; nothing is made of it."""

    engine: str
    python: str
    dipapprox: str


class Proof(Statement, frozen=True, kw_only=True):
    """What all proofs have."""

    format: Literal["dipapprox proof"]
    version: Literal[1]
    program: ProgramOfProof
    params: dict[str, Rational]
    scope: Line
    verdict: Literal["DP", "Not_DP"]
    machine: Object
    claim: Object
    steps: Annotated[tuple[Object, ...], Meta(min_length=1)]
    computed: VersionsOfProof
    digest: Digest


class ProofOfAnswer(Proof, frozen=True, kw_only=True):
    """About one ε, or all of an interval; `widened` are wider domains, by the names of inputs."""

    widened: dict[str, str]


class AboutBudget(Statement, frozen=True, rename={"for_all": "for all", "stops": "stops are seen"}):
    """The parameter that may be any number, and whether it is seen that an automaton stops."""

    for_all: str | None
    stops: bool


class AboutService(Statement, frozen=True, rename={"users": "seen by"}):
    """Who sees the replies of a service, together; nobody for everybody."""

    users: tuple[str, ...]


class ProofOfBudget(Proof, frozen=True, kw_only=True):
    """About a budget for every ε."""

    about: AboutBudget


class ProofOfService(Proof, frozen=True, kw_only=True):
    """About a budget for every ε and every sequence of calls."""

    about: AboutService


class ProgramOfPipeline(Statement, frozen=True):
    """A program that is run: its text, parameters, and wider domains."""

    program: ProgramOfProof
    params: dict[str, Rational]
    widened: dict[str, str]


class OneOfProofs(Statement, frozen=True):
    """A claim, and why it holds."""

    claim: Object
    steps: Annotated[tuple[Object, ...], Meta(min_length=1)]


class ProofOfPipeline(Statement, frozen=True):
    """About what many runs cost together; `programs` has an entry for every run."""

    format: Literal["dipapprox composition proof"]
    version: Literal[1]
    programs: tuple[ProgramOfPipeline | None, ...]
    pipeline: Object
    verdict: Literal["DP", "Not_DP"]
    proofs: Annotated[tuple[OneOfProofs, ...], Meta(min_length=1)]
    computed: VersionsOfProof
    digest: Digest


class StepOfProof(Statement, frozen=True, rename={"premises": "from"}):
    """A step that the kernel has replayed."""

    rule: Text
    premises: tuple[Count, ...]
    concludes: Text


class CheckOfProof(Statement, frozen=True, kw_only=True):
    """What is said of proofs."""

    program: str
    params: dict[str, Rational]
    scope: Text
    caveat: Text | None
    verdict: Literal["DP", "Not_DP"]
    elaborated: bool
    steps: tuple[StepOfProof, ...]
    seconds: Seconds


CHECK = kinds_of(
    CheckOfProof,
    {
        "ProofConfirmed": "All steps hold, and the last one is the claim.",
        "ProofRefuted": "Something does not hold.",
        "ProofNotConfirmed": "Nothing was found false, but not all was replayed.",
    },
    result=(Literal["confirmed"], Literal["refuted"], Literal["not confirmed"]),
    differences=(Nothing, Something, Nothing),
    reason=(None, None, Text),
)


Budget = Annotated[Rational, Meta(description="a multiple of ε")]
Change = Literal[-1, 0, 1]


class LeastBudget(Statement, frozen=True):
    """Bounds; `upper` is null if no budget is known."""

    lower: Budget
    upper: Budget | None
    exact: bool


class Step(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A step of a run: where it is in the file, what it compares, shows and stores."""

    line: Annotated[int, Meta(ge=1)] | None
    source: Text = field(name="from")
    target: Text = field(name="to")
    guard: Text
    output: Text
    stored: tuple[Text, ...]
    reads: bool
    change: Change


class ShiftedStep(Step, frozen=True, kw_only=True):
    """With what its sample is shifted by, and what that costs."""

    shift: Change
    cost: Budget


class Ray(Statement, frozen=True):
    """Two inputs and what is seen: as ε grows all that is stated is lost; null reads no input."""

    first: tuple[Rational | None, ...]
    second: tuple[Rational | None, ...]
    word: tuple[Text, ...]


class RunWitness(Statement, frozen=True, tag_field="kind", tag="run"):
    """A run that its outputs determine: no smaller budget serves, at any ε."""

    steps: tuple[ShiftedStep, ...]
    budget: Budget
    ray: Ray | UnsetType | None = UNSET


class WordWitness(Ray, frozen=True, tag_field="kind", tag="word"):
    """Two inputs and what is seen: no smaller budget serves all large ε; null reads no input."""

    again: Annotated[
        tuple[Count, Count] | None,
        Meta(description="the first step, and the one behind the last, that lose again and again"),
    ]
    budget: Budget


class Round(Statement, frozen=True):
    """Going round the cycles so often."""

    times: Count
    budget: Annotated[Budget, Meta(description="needed at every ε")]
    log_ratio: Annotated[
        Enclosure | None,
        Meta(description="ends of what is lost at ε = 1 for the inputs of the ray"),
    ]
    ray: Ray | None


class StructureWitness(Statement, frozen=True):
    """A run; going round its cycles, [from, to) in `steps`, once more adds to the budget."""

    steps: tuple[Step, ...]
    cycles: tuple[tuple[Count, Count], ...]
    gain_of_round: Budget
    rounds: Annotated[tuple[Round, ...], Meta(description="empty if not proved")]
    rounds_beyond_budget: Annotated[
        Count | None, Meta(description="the fewest that need more than the claimed budget")
    ]


class LeakingCycle(StructureWitness, frozen=True, tag_field="kind", tag="LC"):
    """A cycle that stores a value and compares it."""


class LeakingPair(StructureWitness, frozen=True, tag_field="kind", tag="LP"):
    """Two cycles, all samples of one below those of the other."""


class DisclosingCycle(StructureWitness, frozen=True, tag_field="kind", tag="DC"):
    """A cycle that shows samples of its inputs."""


class ViolatingPath(StructureWitness, frozen=True, tag_field="kind", tag="PV"):
    """A sample that is shown bounds all samples of a cycle."""


class RayWitness(Statement, frozen=True, tag_field="kind", tag="ray"):
    """Adjacent inputs start + s·target, s and s + 1, for s >= 0; the origin is 0.

    As s grows, the budget is lost at the output; null for more than any.
    """

    start: tuple[Rational, ...]
    origin: tuple[Rational, ...]
    target: tuple[Rational, ...]
    output: dict[str, int | str]
    budget: Budget | None


class _Places(Statement, frozen=True, kw_only=True):
    """Two adjacent inputs, and an output that loses the budget between them."""

    first: tuple[Rational, ...]
    second: tuple[Rational, ...]
    output: dict[str, int | str]
    budget: Budget | None


class PlacesWitness(_Places, frozen=True, tag_field="kind", tag="places"):
    """Two adjacent inputs between bounds: as ε grows, the output loses the budget between them.

    Null if the output is impossible at the second, so that more is lost than any budget.
    """


class VanishingWitness(_Places, frozen=True, tag_field="kind", tag="vanishing"):
    """Two adjacent inputs: as ε goes to 0, the output loses the budget between them.

    Null if its probabilities differ by a factor there, so that no budget is enough.
    """


class OneEpsWitness(_Places, frozen=True, kw_only=True, tag_field="kind", tag="one eps"):
    """Two adjacent inputs: at this ε, the output loses the budget between them, and a bit more."""

    eps: Rational
    budget: Budget


class CallEvent(Statement, frozen=True):
    """A call of each run, null for none, and what both answer; null if the reply is not seen."""

    first: Text | None
    second: Text | None
    reply: dict[str, int | str] | None


class CallsWitness(Statement, frozen=True, tag_field="kind", tag="calls"):
    """Calls of a service that show the budget; null if there is none.

    Repeated calls leave the runs where they were: each time gains, at every ε or at one.
    """

    calls: tuple[CallEvent, ...]
    repeated: tuple[CallEvent, ...]
    gain: Budget | None
    gains_at_eps: Rational | None
    budget: Budget | None


Structures = LeakingCycle | LeakingPair | DisclosingCycle | ViolatingPath
Witness = (
    RunWitness
    | WordWitness
    | Structures
    | RayWitness
    | PlacesWitness
    | VanishingWitness
    | OneEpsWitness
    | CallsWitness
)


class ProveAnswer(Statement, frozen=True, kw_only=True):
    """What all answers of `prove` have."""

    program: str
    params: Annotated[dict[str, Rational], Meta(description="empty for an automaton")]
    eps: Annotated[Rational | None, Meta(description="the only one asked about; null for all")]
    caveat: Annotated[Text | None, Meta(description="what the answer leaves out")]
    budget: Annotated[Budget | None, Meta(description="the claimed one")]
    least_budget: LeastBudget
    structures: tuple[Literal["LC", "LP", "DC", "PV"], ...]
    published_weight: Budget | None
    states: Count
    quotient_states: Count | None
    witness: Witness | None
    seconds: Seconds
    proved: Proved | UnsetType = UNSET
    why: Reasons | UnsetType = UNSET


PROVE = kinds_of(
    ProveAnswer,
    {
        "Served": "There is a budget, and the claimed one is one; "
        "the reason says why it is not exact.",
        "Refuted": "There is no budget, or the claimed one is less than the lower bound.",
        "Open": "Not told; the reason says why.",
    },
    verdict=VERDICTS,
    reason=(Text | None, Text | None, Text),
)
