"""Criteria over pairs of samples: leave-pair-out, and ranking within queries."""
