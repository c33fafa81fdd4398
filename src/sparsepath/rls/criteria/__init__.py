"""What is minimised: losses of leave-one-out residuals."""
