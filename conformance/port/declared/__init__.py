"""What a port declares of itself in its ``candle-parity.toml``, made sure of against the specs."""
