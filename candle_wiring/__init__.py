"""Which kernels Candle's Rust side asks for by name, against what the specs define."""
