"""A ROCm installation without a GPU, for programs: ``candle-parity emulate`` (docs/emulate.md)."""
