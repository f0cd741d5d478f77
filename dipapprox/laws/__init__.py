"""Noise: a family a class, which owns all that is known of it.

In: the name of a family, a mean, a scale. Out: densities, distribution functions, tails and bounds
of them, in balls and in doubles; what a shift costs. Read `family` first, then one that is simple:
`logistic`.
"""
