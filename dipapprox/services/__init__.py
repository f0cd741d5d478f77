"""Services: systems that answer calls without end, and what they lose.

In: a service, perhaps a family of relations. Out: the least budget for every sequence of calls, or
what shows that there is none. Read `model` first, then `pairs`, `loss` and `search`.

What runs handlers raises `SourceError` if one does something meaningless in a state that calls lead
to, `UserError` if there is no such user or a choice is no probability distribution for some eps,
`Inexpressible` without closed forms, and `Untracked` or `NotPlain` if values are needed.
"""
