"""KAlgebra's language: parsing and evaluating its expressions."""
