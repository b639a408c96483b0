"""Launches of a running program, recorded and judged one by one: ``candle-parity capture`` (docs/capture.md)."""
