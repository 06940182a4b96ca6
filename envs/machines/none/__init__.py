"""No machine at all."""
