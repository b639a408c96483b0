"""One file for each group of launch families: everything that knows their arguments."""
