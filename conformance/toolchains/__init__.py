"""Compilers, device libraries and targets as they are found on a machine. Nothing of a port is known here."""
