"""Readers of what the agent left; all of it is hostile.

``files`` gets bytes and texts, ``tables`` makes rows of them. ``spreadsheet`` and ``database`` are programs of their
own, which import nothing of deskgym: ``limited`` runs them.
"""
