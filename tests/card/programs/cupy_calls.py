"""Prints CuPy's results with a driver but without a GPU."""

import cupy

runtime = cupy.cuda.runtime
QUESTIONS = (
    runtime.driverGetVersion,
    runtime.getDeviceCount,
    lambda: runtime.malloc(512),
    runtime.memGetInfo,
    lambda: cupy.zeros(4),
    lambda: cupy.cuda.Stream(),
    lambda: cupy.get_default_memory_pool().total_bytes(),
)

for question in QUESTIONS:
    try:
        print(question())
    except Exception as error:
        print(type(error).__name__, error)
