"""The qemu machine: a virtual machine with memory snapshots."""
