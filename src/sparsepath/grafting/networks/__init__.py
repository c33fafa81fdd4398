"""Networks that grow by grafting."""
