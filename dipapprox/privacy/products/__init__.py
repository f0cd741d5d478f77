"""What answers need of programs with independent parts.

In: pairs of a product. Out: their distributions in closed form, and witnesses. Read `exact` first.
"""
