"""What is recorded in MLflow: read back, and the rows of a candidate written at once."""

__all__ = ["run_reader", "run_writer"]
