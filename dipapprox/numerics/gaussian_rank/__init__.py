"""The engine for Gaussian events whose guards have a small rank.

In: events. Out: enclosures, from polyhedra in as many variables as the rank. Read `engine` first,
then `cones`.
"""
