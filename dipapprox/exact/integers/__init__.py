"""Discrete Laplace noise in closed form.

In: systems of linear inequalities between integers. Out: probabilities as rational functions of
e^(-uε). Read `elimination` first.
"""
