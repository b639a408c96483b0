"""The harness on trial: how many wrong kernels it catches, and how many right ones it lets pass."""
