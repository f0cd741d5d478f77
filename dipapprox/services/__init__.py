"""Services: systems that answer calls without end, and what they lose.

In: a service, perhaps a family of relations. Out: the least budget for every sequence of calls, or
what shows that there is none. Read `model` first, then `pairs`, `loss` and `prove_service`.
"""
