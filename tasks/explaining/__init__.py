"""The stage that explains the model that is served; what explanations are made of is in evaluation."""

__all__ = ["served_model"]
