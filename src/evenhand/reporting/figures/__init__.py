"""Figures as SVG or PNG by matplotlib, without the global state of pyplot."""

__all__ = [
    "comparison",
    "drift",
    "plots",
    "run_figures",
]
