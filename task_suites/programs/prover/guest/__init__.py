"""What runs in the machine: a text REPL for Coq, and what keeps a REPL running. They import nothing of ours."""
