"""Reports: pure functions from records and specs to text. The percentage is always over every kernel of the specs."""
