"""Ensemble selection and voting from a library of scores."""
