"""What some commands need, and most runs never: loaded when it is first used (`deferred`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dipapprox.cli import plot as plots
from dipapprox.cli import review
from dipapprox.deferred import Deferred
from dipapprox.questions import certifying, worst_pair

if TYPE_CHECKING:
    from dipapprox.experiments import pictures
    from dipapprox.proof_steps import composed_ends
    from dipapprox.proofs import replayed
    from dipapprox.replays import files
else:
    pictures = Deferred("dipapprox.experiments.pictures")
    composed_ends = Deferred("dipapprox.proof_steps.composed_ends")
    replayed = Deferred("dipapprox.proofs.replayed")
    files = Deferred("dipapprox.replays.files")

__all__ = [
    "certifying", "composed_ends", "files", "pictures", "plots",
    "replayed", "review", "worst_pair",
]  # fmt: skip
