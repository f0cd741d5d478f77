"""What pipelines run, as the kernel reads it, and steps about programs among it."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from dipapprox.composition import mechanisms as catalogue
from dipapprox.composition.mechanisms import Mechanism
from dipapprox.errors import NoCertificate
from dipapprox.kernel.adjacency import adjacent_pairs
from dipapprox.kernel.compositions import Pipeline
from dipapprox.kernel.judgements import Distributions, Judgement, Of
from dipapprox.kernel.machine import Machine
from dipapprox.kernel.proofs import growth_bound
from dipapprox.language.domains import has_real_inputs
from dipapprox.privacy.compositions.pipeline import PipelineRun, ProgramAt
from dipapprox.privacy.compositions.programs import Worst, worst_of_program
from dipapprox.privacy.options import Options
from dipapprox.proof_steps.composed_steps import ComposedSteps
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import Json, input_json, number_json

_POINT_BITS = 40
"""Losses at which deltas are bounded are multiples of 2^-40."""


class ComposedProgram:
    """A program that is run: deltas of all pairs where they bend, and a pair from below."""

    def __init__(
        self,
        pipeline: Pipeline,
        number: int,
        run: PipelineRun,
        adjacency: catalogue.Adjacency,
        options: Options,
        worst: Worst | None,
        bits: int,
    ) -> None:
        what = run.what
        assert isinstance(what, ProgramAt)
        if what.program.real_outputs or has_real_inputs(what.program):
            raise NoCertificate("programs with real inputs or outputs have no losses in the kernel")
        self._of: dict[str, Json] = {"of": {"run": number}}
        self._concluded: dict[str, Judgement] = {}
        if worst is None:
            worst = worst_of_program(what.program, what.eps, adjacency, run.times, options)
        self.attained = worst.pair
        self._run: dict[str, Json] = {
            "eps": number_json(what.eps),
            "inputs": None,
            "bits": bits,
            "cuts": [],
        }
        machine = pipeline.runs[number][0].what
        assert isinstance(machine, Machine)
        steps = ComposedSteps(pipeline)
        found = steps[self.distributions(steps)]
        assert isinstance(found, Of) and isinstance(found.judgement, Distributions)
        bounds = found.judgement.bounds
        rows = dict.fromkeys(
            tuple(sorted(zip(bounds[u][1], bounds[v][0], strict=True)))
            for u, v in adjacent_pairs(machine.adjacency, machine.domains)
        )
        unit = 1 << _POINT_BITS
        losses = {Fraction(ceil(each * unit), unit) for each in worst.losses}
        places = found.judgement.places
        self._deltas: dict[Fraction, Fraction] = {}
        for loss in sorted(losses):
            options.limits.check()
            factor, below = growth_bound(loss, places, above=False).as_integer_ratio()
            largest = max(sum([max(p - factor * q // below, 0) for p, q in row]) for row in rows)
            self._deltas[loss] = Fraction(largest, 1 << places)

    def deltas(self) -> dict[Fraction, Fraction]:
        """Bounds of delta for all pairs, by eps_prv."""
        return self._deltas

    def bends(self) -> list[float]:
        """Where bounds of all pairs bend."""
        return [sign * float(t) for t in self._deltas for sign in (1, -1)]

    def distributions(self, steps: ComposedSteps) -> int:
        """Write the step that runs the program."""
        return steps.add("distributions", [], {**self._of, **self._run}, self._concluded)

    def attaining(self, steps: ComposedSteps) -> int:
        """Write the step that runs it for the pair from below alone."""
        inputs: dict[str, Json] = {"inputs": [input_json(each) for each in self.attained]}
        fields = {**self._of, **self._run, **inputs}
        return steps.add("distributions", [], fields, self._concluded)

    def points(self, steps: ComposedSteps) -> list[int]:
        """Write the steps that bound delta."""
        known, found = self.distributions(steps), []
        for loss, delta in self._deltas.items():
            inner: dict[str, Json] = {
                "eps_prv": number_json(loss),
                "delta": number_json(min(delta, Fraction(1))),
            }
            fields = {**self._of, **inner}
            found.append(steps.add("every pair", [known], fields, self._concluded))
        return found


def run_json(run: PipelineRun) -> Json:
    rate = None if run.rate is None else number_json(run.rate)
    what: Json
    if isinstance(run.what, ProgramAt):
        what = {"machine": machine_json(run.what.program), "eps": number_json(run.what.eps)}
    else:
        what = _mechanism_json(run.what)
    return {"what": what, "subsample": rate, "times": run.times}


def _mechanism_json(mechanism: Mechanism) -> Json:
    def noise(name: str, sensitivity: Fraction | int, **size: Fraction) -> Json:
        numbers = {"sensitivity": Fraction(sensitivity), **size}
        return {"mechanism": name} | {key: number_json(each) for key, each in numbers.items()}

    match mechanism:
        case catalogue.Gaussian(sensitivity, sigma):
            return noise("Gauss", sensitivity, variance=sigma**2)
        case catalogue.Laplace(sensitivity, scale):
            return noise("Lap", sensitivity, scale=scale)
        case catalogue.DiscreteLaplace(sensitivity, scale):
            return noise("DLap", sensitivity, scale=scale)
        case catalogue.DiscreteGaussian(sensitivity):
            return noise("DGauss", sensitivity, variance=mechanism.square)
        case catalogue.RandomisedResponse(probability, values):
            return {
                "mechanism": "randomised_response",
                "probability": number_json(probability),
                "values": values,
            }
        case catalogue.ExponentialMechanism(eps):
            return {"mechanism": "exponential_mechanism", "eps": number_json(eps)}
        case catalogue.ApproximateStatement(eps, delta):
            return {
                "mechanism": "approx_dp",
                "eps": number_json(eps),
                "delta": number_json(delta),
            }
        case catalogue.RenyiStatement(orders):
            listed: list[Json] = [[number_json(a), number_json(b)] for a, b in orders]
            return {"mechanism": "rdp", "orders": listed}
        case catalogue.ConcentratedStatement(rho):
            return {"mechanism": "zcdp", "rho": number_json(rho)}
        case _:
            raise NoCertificate("the kernel does not know what is run")
