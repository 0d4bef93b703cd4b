"""Memory in nodes of CUDA graphs is not moved: prints the reason for each way to make a node."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
import vramstow

KERNEL = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 place)
{
  .reg .u64 %rd<3>;
  .reg .u32 %r<2>;
  ld.param.u64 %rd1, [place];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 7;
  st.global.u32 [%rd2], %r1;
  ret;
}
"""
BYTES = 8 << 20
ON_DEVICE = 2  # CU_MEMORYTYPE_DEVICE
MEMSET_NODE = 2  # CU_GRAPH_NODE_TYPE_MEMSET
OPERATIONS_NODE = 12  # CU_GRAPH_NODE_TYPE_BATCH_MEM_OP
WAIT, WRITE = 1, 2  # CU_STREAM_MEM_OP_WAIT_VALUE_32, CU_STREAM_MEM_OP_WRITE_VALUE_32
RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
WORD, COUNT, POINTER = ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p


def structure(**fields: type) -> type[ctypes.Structure]:
    return type("Parameters", (ctypes.Structure,), {"_fields_": list(fields.items())})


def side(name: str) -> dict[str, type]:
    return (
        {f"{name}_{at}": COUNT for at in ("x", "y", "z", "level")}
        | {f"{name}_kind": WORD, f"{name}_host": POINTER, f"{name}_device": ctypes.c_uint64}
        | {f"{name}_{what}": POINTER for what in ("array", "reserved")}
        | {f"{name}_{size}": COUNT for size in ("pitch", "height")}
    )


Fill = structure(
    place=ctypes.c_uint64, pitch=COUNT, value=WORD, element=WORD, width=COUNT, height=COUNT
)
Copy = structure(**side("from"), **side("to"), width=COUNT, height=COUNT, depth=COUNT)
Launch = structure(
    function=POINTER,
    **{f"{what}_{at}": WORD for what in ("grid", "block") for at in "xyz"},
    shared=WORD,
    arguments=POINTER,
    extra=POINTER,
    kernel=POINTER,
    context=POINTER,
)
Node = structure(kind=WORD, zeros=WORD * 3, fill=Fill, context=POINTER, rest=ctypes.c_char * 256)

Operation = structure(
    kind=WORD, place=ctypes.c_uint64, value=ctypes.c_uint64, flags=WORD, rest=COUNT * 2
)
Batch = structure(context=POINTER, count=WORD, operations=POINTER, flags=WORD)
AnyBatch = structure(kind=WORD, zeros=WORD * 3, batch=Batch, rest=ctypes.c_char * 256)
Compressed = structure(
    size=COUNT,
    out_size=COUNT,
    told_size=POINTER,
    from_place=POINTER,
    to_place=POINTER,
    kind=WORD,
    rest=ctypes.c_char * 20,
)

cuda = ctypes.CDLL("libcuda.so.1")
context, graph, node = POINTER(), POINTER(), POINTER()


def check(result: int) -> None:
    assert result == 0, result


def fill(place: int) -> ctypes.Structure:
    return Fill(place, 0, 1, 1, 16, 1)


def add(function: str, parameters: ctypes.Structure, *more: object) -> None:
    made = (ctypes.byref(node), graph, None, COUNT(0), ctypes.byref(parameters))
    check(cuda[function](*made, *more))


def copy(place: int) -> ctypes.Structure:
    return Copy(
        from_kind=ON_DEVICE,
        from_device=plain.data_ptr(),
        to_kind=ON_DEVICE,
        to_device=place,
        width=16,
        height=1,
        depth=1,
    )


def launch(place: int) -> ctypes.Structure:
    module, function = POINTER(), POINTER()
    check(cuda.cuModuleLoadData(ctypes.byref(module), KERNEL))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"store"))
    argument = ctypes.c_uint64(place)
    arguments = (POINTER * 1)(ctypes.addressof(argument))
    kept.extend((argument, arguments))
    ones = {f"{what}_{at}": 1 for what in ("grid", "block") for at in "xyz"}
    return Launch(function=function, arguments=ctypes.addressof(arguments), **ones)


def add_any(place: int) -> None:
    parameters = Node(kind=MEMSET_NODE, fill=fill(place))
    made = (ctypes.byref(node), graph, None, None, COUNT(0), ctypes.byref(parameters))
    check(cuda.cuGraphAddNode_v2(*made))


def change(place: int) -> None:
    add("cuGraphAddMemsetNode", fill(plain.data_ptr()), context)
    check(cuda.cuGraphMemsetNodeSetParams(node, ctypes.byref(fill(place))))


def change_instance(place: int) -> None:
    add("cuGraphAddMemsetNode", fill(plain.data_ptr()), context)
    instance = POINTER()
    check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(instance), graph, ctypes.c_uint64(0)))
    given = ctypes.byref(fill(place))
    check(cuda.cuGraphExecMemsetNodeSetParams(instance, node, given, context))


def operations(place: int) -> ctypes.Array:
    """Returns a batch whose last operation names the address."""
    made = (Operation * 2)(Operation(WRITE, plain.data_ptr(), 1), Operation(WAIT, place, 0))
    kept.append(made)
    return made


def batch(place: int) -> ctypes.Structure:
    return Batch(context=context, count=2, operations=ctypes.addressof(operations(place)))


def add_any_operations(place: int) -> None:
    parameters = AnyBatch(kind=OPERATIONS_NODE, batch=batch(place))
    made = (ctypes.byref(node), graph, None, None, COUNT(0), ctypes.byref(parameters))
    check(cuda.cuGraphAddNode_v2(*made))


def capture(submit: Callable[[ctypes.c_void_p], int]) -> None:
    stream, captured = POINTER(), POINTER()
    check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    check(cuda.cuStreamBeginCapture_v2(stream, RELAXED))
    check(submit(stream))
    check(cuda.cuStreamEndCapture(stream, ctypes.byref(captured)))


def capture_value(function: str, place: int) -> None:
    capture(lambda stream: cuda[function](stream, ctypes.c_uint64(place), 0, 0))


def capture_batch(place: int) -> None:
    capture(lambda stream: cuda.cuStreamBatchMemOp_v2(stream, 2, operations(place), 0))


# A simulated GPU does not decompress, so the result is ignored.
def capture_decompression(place: int) -> None:
    buffers = Compressed(size=16, out_size=16, from_place=plain.data_ptr(), to_place=place)

    def submit(stream: ctypes.c_void_p) -> int:
        cuda.cuMemBatchDecompressAsync(ctypes.byref(buffers), COUNT(1), 0, None, stream)
        return 0

    capture(submit)


WAYS: dict[str, Callable[[int], None]] = {
    "none": lambda _: None,
    "fill": lambda place: add("cuGraphAddMemsetNode", fill(place), context),
    "copy": lambda place: add("cuGraphAddMemcpyNode", copy(place), context),
    "kernel": lambda place: add("cuGraphAddKernelNode_v2", launch(place)),
    "any": add_any,
    "changed": change,
    "changed instance": change_instance,
    "operations": lambda place: add("cuGraphAddBatchMemOpNode", batch(place)),
    "any operations": add_any_operations,
    "captured write": lambda place: capture_value("cuStreamWriteValue32_v2", place),
    "captured wait": lambda place: capture_value("cuStreamWaitValue64_v2", place),
    "captured operations": capture_batch,
    "captured decompression": capture_decompression,
}

torch.cuda.init()
plain = torch.zeros(BYTES, dtype=torch.uint8, device="cuda")
kept: list[object] = []
check(cuda.cuCtxGetCurrent(ctypes.byref(context)))
for way, make in WAYS.items():
    with vramstow.region(way):
        named = torch.zeros(BYTES, dtype=torch.uint8, device="cuda")
    check(cuda.cuGraphCreate(ctypes.byref(graph), 0))
    make(named.data_ptr() + BYTES // 2)
    try:
        vramstow.pause(way)
        print(f"{way}: paused", flush=True)
    except vramstow.OffloadError as error:
        print(f"{way}: {error}", flush=True)
    vramstow.resume(way)
