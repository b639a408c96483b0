"""candle-parity: reports how far a HIP port of Candle's CUDA kernels is at parity with Candle."""
