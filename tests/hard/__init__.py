"""``make test-hard``: every command many times over, and the tests under hostile conditions."""
