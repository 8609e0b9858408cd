"""Transformers: cut points, groups of values, evidence, top values, weights and rankings of columns."""
