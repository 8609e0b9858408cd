"""Who serves a study, as the command line asks for it."""

from evenhand.crowning import Standing, promote, propose, register, roll_back, stand

__all__ = ["Standing", "promote", "propose", "register", "roll_back", "stand"]
