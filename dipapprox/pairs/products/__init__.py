"""Programs whose parts are independent: pairs part by part.

In: the output distributions of the parts. Out: the largest δ of all their combinations. Read
`losses` first, then `layout` and `measures`.
"""
