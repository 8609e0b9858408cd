"""Naive Bayes for mixed columns, selected columns and numeric targets."""
