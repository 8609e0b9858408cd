"""`python -m evenhand` does what the command does."""

from evenhand.cli import main

main()
