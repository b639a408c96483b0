"""How fast kernels are: the cases of the specs' ``bench`` rows, timed on the device by its own events."""
