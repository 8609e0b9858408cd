"""Trying candidates on shares of the rows, where a study gives minutes. Not here: who goes on (models.halving)."""

__all__ = ["attempting"]
