"""What the scikit-learn faces of all methods share."""
