"""Probabilities in closed form: functions of ε, compared and evaluated exactly.

In: events of Laplace-type or discrete Laplace noise, and random choices. Out: their probabilities
as ratios of exponential polynomials in ε. Read `methods` first, then `distributions`; what
solves each kind of event is in `laplace`, `integers` and `choices`, what is asked of functions of ε
in `signs`.
"""
