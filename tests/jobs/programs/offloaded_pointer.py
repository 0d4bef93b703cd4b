"""Prints the driver's attributes of a block that vramstow has moved to the host; they are those of
any other block."""

import ctypes

import cuda

SIZE = 8 << 20


def told(address: int) -> dict[str, object]:
    names = ("CONTEXT", "MEMORY_TYPE", "DEVICE_POINTER", "IS_MANAGED", "DEVICE_ORDINAL", "MAPPED")
    numbers = [getattr(cuda, name) for name in names]
    answers: dict[str, object] = {
        name: cuda.attribute(number, address) for name, number in zip(names, numbers, strict=True)
    }
    result, values = cuda.attributes([*numbers, cuda.HOST_POINTER], address)
    answers["all"] = (result, values)
    answers["host"] = cuda.attribute(cuda.HOST_POINTER, address)[0]
    return answers


def main() -> None:
    cuda.start()
    block = cuda.allocate(SIZE)
    data = bytes(range(256)) * (SIZE // 256)
    cuda.write(block, data)
    view = block + 4 * 4321
    before = told(view)
    assert before["MEMORY_TYPE"] == (0, cuda.ON_DEVICE), before
    assert before["DEVICE_POINTER"] == (0, view), before
    assert before["DEVICE_ORDINAL"] == (0, 0) and before["MAPPED"] == (0, 1), before
    assert before["host"] == cuda.INVALID_VALUE, before
    cuda.check(cuda.vramstow.vramstow_offload(None), "vramstow_offload")
    assert told(view) == before, (told(view), before)
    assert cuda.access(cuda.HOST_LOCATION, block) == 3
    # A driver may copy with the CPU, and a library may use the address as a host address.
    assert ctypes.string_at(view, 1000) == data[view - block :][:1000]
    assert cuda.read(block, SIZE) == data
    cuda.check(cuda.vramstow.vramstow_resume(None), "vramstow_resume")
    assert told(view) == before
    cuda.free(block)
    print("done")


if __name__ == "__main__":
    main()
