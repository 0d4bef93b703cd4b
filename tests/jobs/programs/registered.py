"""Registers a block with a network card, frees the block and makes memory scarce: the network
card's writes must reach the registered memory, and no other block."""

import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64

import cuda

MEBI = 1 << 20
SIZE = 32 * MEBI
SYNC_MEMOPS = 6
DMA_BUF = 1


class Card:
    """A network card that accesses the block by its physical memory."""

    def __init__(self, block: int) -> None:
        descriptor = c_int(-1)
        range_ = (c_uint64(block), c_size_t(SIZE))
        cuda.call("cuMemGetHandleForAddressRange", byref(descriptor), *range_, DMA_BUF, c_uint64(0))
        self.descriptor = descriptor
        self.writes = 0

    def write(self) -> bytes:
        """Writes to the first and the last byte of each mebibyte; returns the written values."""
        self.writes += 1
        data = bytes([self.writes])
        write = cuda.driver.vramstowSimulatorWriteRegistered
        for at in range(0, SIZE, MEBI):
            for offset in (at, at + MEBI - 1):
                cuda.check(
                    write(self.descriptor, c_uint64(offset), c_char_p(data), c_size_t(1)), "write"
                )
        return data

    def check(self, block: int) -> None:
        """Checks that the block is at the physical memory that the network card knows."""
        data = self.write()
        seen = cuda.read(block, SIZE)
        places = b"".join(seen[at : at + 1] + seen[at + MEBI - 1 : at + MEBI] for at in edges())
        assert places == data * len(places), "the card writes elsewhere"


class Attribute:
    """Marks memory by an attribute, which a driver stores with each physical memory."""

    def __init__(self, block: int) -> None:
        set_it = cuda.driver.cuPointerSetAttribute
        cuda.check(set_it(byref(c_uint(1)), SYNC_MEMOPS, c_uint64(block + MEBI)), "set")

    def write(self) -> bytes:
        return b""

    def check(self, block: int) -> None:
        marks = [cuda.attribute(SYNC_MEMOPS, block + at)[1] & 1 for at in edges()]
        assert all(marks), f"other memory lies there: {marks}"


def edges() -> range:
    return range(0, SIZE, MEBI)


def fill(address: int, size: int, value: int) -> None:
    cuda.call("cuMemsetD8_v2", c_uint64(address), value, c_size_t(size))
    cuda.call("cuCtxSynchronize")


def find_again(block: int) -> int:
    """Allocates until a block has the same address."""
    others = []
    for _ in range(16):
        found = cuda.allocate(SIZE)
        if found == block:
            for other in others:
                cuda.free(other)
            return found
        others.append(found)
    raise SystemExit("the address was not handed out again")


def expect_untouched(card: Card | Attribute, block: int, size: int, registered: int) -> None:
    """Checks that the card's writes change a block only if its address was registered."""
    fill(block, size, 0xEE)
    card.write()
    for at in range(0, size, MEBI):
        if registered <= block + at < registered + SIZE:
            continue
        seen = cuda.read(block + at, 1) + cuda.read(block + at + MEBI - 1, 1)
        assert seen == b"\xee\xee", f"the card wrote into another block, {at >> 20} MiB behind"


def empty_cache() -> None:
    released = c_uint64()
    cuda.check(cuda.vramstow.vramstow_empty_cache(-1, byref(released)), "vramstow_empty_cache")


def main() -> None:
    cuda.start()
    below, block, above = (cuda.allocate(SIZE) for _ in range(3))
    fill(block, SIZE, 1)
    card = Card(block) if sys.argv[1] == "descriptor" else Attribute(block)
    card.check(block)
    cuda.free(block)
    cuda.free(below)
    # The pool has no free piece of this size, so it stitches (it builds the block from scattered
    # chunks).
    stitched = cuda.allocate(2 * SIZE)
    expect_untouched(card, stitched, 2 * SIZE, block)
    cuda.free(stitched)
    again = find_again(block)
    card.check(again)
    cuda.free(again)
    cuda.free(above)
    empty_cache()
    # The loop allocates all memory that the GPU has left.
    large = []
    while (address := c_uint64()) is not None:
        if cuda.driver.cuMemAlloc_v2(byref(address), c_size_t(SIZE)) != 0:
            break
        large.append(address.value)
        if address.value == block:
            card.check(block)
        else:
            expect_untouched(card, address.value, SIZE, block)
    assert block in large
    for each in large:
        cuda.free(each)
    empty_cache()
    card.check(find_again(block))
    print("done")


if __name__ == "__main__":
    main()
