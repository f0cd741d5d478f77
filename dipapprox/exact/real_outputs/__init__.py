"""Densities of published numbers with Laplace-type noise, compared exactly."""
