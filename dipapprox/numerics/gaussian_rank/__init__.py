"""The engine for Gaussian events whose guards have a small rank.

In: events. Out: enclosures, from polyhedra in as many variables as the rank. Read `orthants`
first, then `cones`.
"""
