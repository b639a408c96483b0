# candle-parity on a ROCm image; docs/runtimes.md, "On a ROCm box", has the command that gives it the GPUs.
ARG ROCM=6.4.3
FROM rocm/dev-ubuntu-24.04:${ROCM}
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make python3-venv \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /candle-parity
COPY . .
RUN python3 -m venv .venv && .venv/bin/pip install --no-cache-dir --editable '.[zig]'
ENTRYPOINT [".venv/bin/candle-parity"]
CMD ["doctor"]
