"""What a tree under trial is: its sources, the options and compilers that they go through, what they define, and how
that compares with the specs. Nothing of a port is executed here.
"""

DIALECTS = ("auto", "hip", "cuda")
"""What ``--dialect`` and ``candle-parity.toml`` take: ``auto`` goes by each source. Here, as the command line reads it
before anything else is loaded."""
