"""Encoded rows in little room: the parts that an encoder gives, and the form of a matrix that a model is fitted on.

Not here: the packed matrix itself and its files (storage.packed, storage.matrices).
"""

__all__ = ["by_columns", "forms", "parts"]
