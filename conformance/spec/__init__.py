"""Specs: what Candle's kernels are, read from ``specs/*.yaml``."""
