"""What several independent parts lose together, along rays of inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.proofs.changes import Change, Changes
from dipapprox.proofs.part_proofs import PartRay, PartRun
from dipapprox.proofs.proof import PartLoss
from dipapprox.proofs.rays import dearness, total_loss

Losses = tuple[PartLoss, ...]


def joint_losses(runs: Sequence[PartRun], changes: Changes) -> Losses:
    """Return where all parts together lose most, as far as this is found."""
    alone = list(single_losses(runs))
    if any(lost_in(each) is None for each in alone) or len(runs) == 1:
        return dearest(alone)
    together = list[Losses]()
    if share_inputs([run.inputs for run in runs]):
        for change in dict.fromkeys(_common_changes(runs, changes)):
            rays = [run.ray_at(change) for run in runs]
            if _start_together(runs, rays):
                together.append(_losses(rays))
    elif len(changes.boxes) == 1:
        together.append(_losses(run.best_ray for run in runs))
    return dearest([*alone, *together])


def dearest(losses: Iterable[Losses]) -> Losses:
    """Return where most is lost."""
    return max(losses, key=lambda each: dearness(lost_in(each)), default=())


def share_inputs(inputs: Iterable[Sequence[int]]) -> bool:
    """Whether some parts read the same input: then they walk along one ray."""
    found = [k for each in inputs for k in each]
    return len(found) > len(set(found))


def _start_together(runs: Sequence[PartRun], rays: Sequence[PartRay | None]) -> bool:
    """Whether all outputs are possible at the same inputs, those where the rays start."""
    start = dict[int, Fraction]()
    return all(
        start.setdefault(k, value) == value
        for run, each in zip(runs, rays, strict=True)
        if each is not None
        for k, value in run.start(each).items()
    )


def single_losses(runs: Sequence[PartRun]) -> Iterator[Losses]:
    """Yield what each part loses where the outcomes of the others do not matter."""
    for number, run in enumerate(runs):
        best = run.best_ray
        if best is not None:
            yield (PartLoss(number, best.output, best.ray),)


def _common_changes(runs: Sequence[PartRun], changes: Changes) -> Iterator[Change]:
    """Yield changes of all inputs that are dear for some part."""
    for box in changes.boxes:
        ends = tuple(hi or lo for lo, hi in box)
        yield ends
        if len(changes.boxes) == 1:
            for run in runs:
                best = run.best_ray
                if best is not None:
                    change = list(ends)
                    for k, step in zip(run.inputs, best.ray.target, strict=True):
                        change[k] = step
                    yield tuple(change)


def _losses(rays: Iterable[PartRay | None]) -> Losses:
    return tuple(
        PartLoss(number, each.output, each.ray)
        for number, each in enumerate(rays)
        if each is not None and each.ray.loss != 0
    )


def lost_in(losses: Losses) -> Fraction | None:
    """What is lost in multiples of radius · eps; None for ∞."""
    return total_loss(each.ray.loss for each in losses)
