"""Numbers that are proved: enclosures, balls, doubles with the errors they may have.

In: rationals, and functions of them. Out: intervals with rational ends (`Enclosure`), balls at a
precision that only `precision` sets, or two arrays of doubles, below and above. Read `enclosure`
first, then `precision` and `rounding`.
"""
