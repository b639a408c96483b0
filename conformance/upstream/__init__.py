"""Candle's kernel sources of today against the specs, and the edits that bring the specs up to date."""
