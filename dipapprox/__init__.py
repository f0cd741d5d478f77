"""A rigorous verifier of differential privacy for programs with Gaussian and Laplace noise."""
