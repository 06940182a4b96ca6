"""What a host has for machines, and how to get what is missing."""
