"""`python -m evenhand` does what the command does."""

from evenhand.cli.main import main

main()
