"""What the guest of a companion can do beside what every guest can: keep a service up, and answer for its data."""
