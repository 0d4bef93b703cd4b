"""Ends while vramstow's own thread manages memory that is on the host."""

import time

import cuda


def main() -> None:
    cuda.start()
    cuda.allocate(8 << 20)
    cuda.check(cuda.vramstow.vramstow_offload(None), "vramstow_offload")
    time.sleep(1.2)  # its thread wakes up within 50 ms
    print("done")


if __name__ == "__main__":
    main()
