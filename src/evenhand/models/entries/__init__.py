"""One entry for each model family, sampler and encoding step, with all that any room needs to know of it.

Not here: how a name becomes an estimator (catalogue, samplers, encoder_steps). Nothing heavy is imported.
"""

__all__ = ["encoders", "models", "samplers"]
