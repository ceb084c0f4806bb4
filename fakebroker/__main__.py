"""`python -m fakebroker`, where the command is not on the path."""

from fakebroker.cli import main

main()
