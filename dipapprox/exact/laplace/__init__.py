"""Laplace noise in closed form.

In: events of Laplace-type samples. Out: probabilities as functions of a formal ε. Read `algebra`
first, then `polyhedra`.
"""
