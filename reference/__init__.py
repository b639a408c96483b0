"""The ground truth: one module per Candle module, one function per kernel family, numpy on whole arrays."""
