"""HIP through hip-python: the device, compilation, and which libraries are opened."""
