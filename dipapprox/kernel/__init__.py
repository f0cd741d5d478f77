"""Proofs replayed: the part of dipapprox that verdicts rest on, and all that `check` believes.

In: a machine, a claim, and the steps of a proof, as JSON. Out: that the claim is proved, or the
first step that does not hold. Nothing is searched here. A run of the machine is an unnormalised
measure on a finite store and the samples still in use (`forward`, `measures`); what it comes to is
a graph of functions of one variable and of numbers (`nodes`), which an evaluator encloses with
balls (`panels`, on the integers `lattice`) or gives exactly in eps (`exact`). Rules turn such
numbers into divergences, and divergences into the claim (`rules`, `replay`).

Read `machine`, `forward`, `nodes`, `rules` first. Imports: the standard library, flint, itself.
"""
