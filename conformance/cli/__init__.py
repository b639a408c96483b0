"""The command line: ``candle-parity run | list | replay | report``."""
