"""How long launches take, by the device's own events: the cases of the specs' ``bench`` rows."""
