"""Probabilities as functions of real inputs.

In: events whose means move with inputs. Out: polynomials on boxes with proved errors, and bounds of
slopes. Read `polynomial` first, then `analytic` and `smooth`.
"""
