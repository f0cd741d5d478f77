"""Proofs replayed: the part of dipapprox that verdicts rest on, and all that `check` believes.

In: a machine, a claim, and the steps of a proof, as JSON. Out: that the claim is proved, or the
first step that does not hold. Nothing is searched here; what is bounded in parts is halved until it
is. A run of the machine is an unnormalised measure on a finite store and the samples still in use;
what it comes to is a graph of functions of one variable and of numbers, which an evaluator encloses
with balls or gives exactly in eps. Rules turn such numbers into divergences, and divergences into
the claim. To be read in this order, in which modules import those before them:

    ground              errors, reading, balls, exponentials, laws
    machines            machine, clamps, forms, signs
    graphs              nodes
      in balls          grid, panels
      in closed form    exact
    runs                measures, walk, forward
    conclusions         losses, mechanisms, judgements, proofs
    finite verdicts     evaluate, published, excesses, several, closed
    real inputs         motion, sets, intervals
    compositions        parts, compositions
    every eps           paths, rounds, regions, potential, rays
    budgets of claims   served
    services            services, couplings, traces
    the whole           replay

Imports: the standard library, flint, itself.
"""
