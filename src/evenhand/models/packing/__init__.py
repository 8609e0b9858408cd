"""Encoded rows in little room: the parts that an encoder gives, and the form of a matrix that each model is fitted on."""

__all__ = ["forms", "parts"]
