"""Exponential polynomials: sums of c * eps ** n * e ** (q * eps), and quotients of two of them."""
