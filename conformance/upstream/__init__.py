"""Candle's kernel sources of today against the specs, the edits that bring the specs up to date, and new modules."""
