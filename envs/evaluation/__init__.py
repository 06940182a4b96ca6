"""Evaluation: checks on the final state and the verdict they add up to.

``evaluator`` runs ``Check`` functions and makes a ``verdict``; ``checks`` holds those that every suite has, one module
per kind; ``predicates`` say what a value must be; ``calls`` binds what task files write to Python functions. Nothing
here evaluates or unpickles what comes from a machine.
"""
