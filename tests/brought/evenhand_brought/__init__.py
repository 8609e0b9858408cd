"""LightGBM, a clipping scaler, a sampler, a metric and a source for Evenhand."""
