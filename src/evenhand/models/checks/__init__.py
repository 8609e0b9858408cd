"""What can be known of models, steps and samplers before anything is fitted: values of parameters, what is stored.

Not here: whether a name is that of a parameter (catalogue, encoder_steps), and what only rows decide.
"""

__all__ = ["kernel_columns", "parameters", "storability"]
