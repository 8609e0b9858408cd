"""Ensemble selection from a library of scores."""
