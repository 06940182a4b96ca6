"""Verify: the proof that a task keeps what it promises, the ledger of proofs, and mutants of oracles."""
