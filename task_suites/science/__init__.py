"""Science software: KAlgebra, TeXstudio and CoqIDE."""
