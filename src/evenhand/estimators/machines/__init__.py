"""Support vector machines and kernels that read categories, by tables of values instead of kernel matrices."""
