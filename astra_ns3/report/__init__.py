"""Tables for people, made from records only."""
