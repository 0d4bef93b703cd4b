"""Does some work, with other clients of CUPTI or none; prints the kernels that a profiler saw.

Arguments: "other" subscribes before CUDA is used, "work" works first, "profiler" works under
torch.profiler.
"""

import ctypes
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def work() -> None:
    ones = torch.ones(1 << 20, device="cuda")
    (ones + ones).cpu()
    del ones
    torch.cuda.empty_cache()
    torch.cuda.synchronize()


cupti = ctypes.CDLL(None)
subscriber = ctypes.c_void_p()
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)
nothing = callback(lambda *_: None)
if "other" in sys.argv:
    assert cupti.cuptiSubscribe(ctypes.byref(subscriber), nothing, None) == 0
if "work" in sys.argv:
    work()
if "profiler" in sys.argv:
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        work()
    on_device = [e for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    print("kernels and copies seen:", len(on_device))
work()
if "other" in sys.argv:
    assert cupti.cuptiUnsubscribe(subscriber) == 0, "still the subscriber"
print("done")
