"""What runs inside a machine. Imports nothing of deskgym outside this package."""
