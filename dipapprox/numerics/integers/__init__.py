"""The engine for integer noise: probabilities added up in fixed point.

In: events of integer samples. Out: enclosures as narrow as asked. Read `sums` first.
"""
