"""Starts a thread for each camera, and each thread has a canvas.

Mended: it starts four threads for all cameras.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import torch

mended = sys.argv[1:] == ["mended"]

CAMERAS = 16
WORKERS = 4 if mended else CAMERAS
local = threading.local()
together = threading.Barrier(WORKERS)


def canvas() -> torch.Tensor:
    if not hasattr(local, "canvas"):
        local.canvas = torch.zeros(3, 2048, 2048, device="cuda")  # <-- place
    return local.canvas


def stitch(camera: int) -> int:
    together.wait()  # all cameras give their pictures at the same moment
    picture = torch.rand(3, 512, 512, device="cuda")
    canvas().zero_()
    for corner in range(0, 2048, 512):
        canvas()[:, corner : corner + 512, corner : corner + 512].copy_(picture)
    return camera


torch.zeros(1, device="cuda")
with ThreadPoolExecutor(WORKERS) as pool:
    stitched = [pool.submit(stitch, camera) for camera in range(CAMERAS)]
    wait(stitched)  # a camera that fails takes no canvas from the others
    print(sum(one.result() for one in stitched))
