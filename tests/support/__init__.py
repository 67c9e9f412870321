"""What tests share: backends, small runs, networks, and inputs made at random."""
