"""Hypothesis profiles: the usual one repeats itself exactly, ``thorough`` looks much further.

``pytest --hypothesis-profile=thorough`` draws other and thirty times as many problems each time.
"""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "usual",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "thorough", parent=settings.get_profile("usual"), derandomize=False, print_blob=True
)
settings.load_profile("usual")
