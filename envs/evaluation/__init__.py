"""Evaluation: checks on the final state and the verdict they add up to.

``evaluator`` runs ``Check`` functions and makes a ``verdict``; ``answers``, ``files`` and ``state`` are the checks that
every suite has (``checks`` names them); ``predicates`` say what a value must be; ``calls`` binds what task files write
to Python functions. Nothing here evaluates or unpickles what comes from a machine.
"""
