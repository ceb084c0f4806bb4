"""Client libraries: a small program for each (README.md), what they are given to do, and the harness that runs them.

Of the programs only those in Python are modules; they run in an environment of their own, so nothing is imported here.
"""
