"""How fast the harness itself is: ``make bench`` prints figures, tests never assert on them."""
