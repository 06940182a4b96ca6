"""What programs of one toolkit have in common: how they are brought into a state, and how a person works with them."""
