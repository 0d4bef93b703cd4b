"""Prints numba's results with a driver but without a GPU."""

from numba import cuda

QUESTIONS = (
    cuda.is_available,
    cuda.detect,
    lambda: cuda.device_array(4),
    cuda.current_context,
    lambda: cuda.pinned_array(4),
)

for question in QUESTIONS:
    try:
        print(question())
    except Exception as error:
        print(type(error).__name__, error)
