"""Densities of published numbers with Laplace-type noise, compared exactly.

In: two measures of what is published. Out: whether one exceeds a multiple of the other anywhere.
Read `comparison` first.
"""
