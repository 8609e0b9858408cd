"""Retrain and compare classical models on imbalanced tables, without leaks."""
