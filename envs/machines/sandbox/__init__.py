"""The sandbox machine: a throwaway copy-on-write desktop in an OCI container."""
