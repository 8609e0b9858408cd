"""What is shown of training rows and of fitted trees, as plain numbers; drawing them is for reporting."""
