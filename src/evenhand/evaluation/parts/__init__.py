"""What a candidate scores when it is fitted on a part of the rows of a fold: for tuning and for learning curves.

Fits on all training rows of a fold, whose predictions are kept, are no part of this.
"""

__all__ = ["learning_curve", "part_scores"]
