"""Network backends behind one contract."""
