"""Machines that hold a kernel matrix, or columns of one: least-squares and relevance vector machines."""
