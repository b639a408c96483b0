"""The languages of kernels; its own file, as the command line reads it before anything else is loaded."""

DIALECTS = ("auto", "hip", "cuda")
"""What ``--dialect`` and ``candle-parity.toml`` take: ``auto`` is told by each source."""
