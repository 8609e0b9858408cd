"""scikit-learn's own checks of an estimator, none of them left out."""

import pytest


@pytest.fixture(autouse=True)
def array_dispatch(monkeypatch):
    """The checks with array dispatch run only where this is set; arrays of NumPy are checked to give the same."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
