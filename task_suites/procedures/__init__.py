"""WONDERBREAD's six tasks as environments: questions about recordings and procedures, answered in words."""
