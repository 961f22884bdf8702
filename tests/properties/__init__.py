"""What must hold for any data. `make test-hard` tries more of it: KERNLINE_EXAMPLES examples of each property."""
