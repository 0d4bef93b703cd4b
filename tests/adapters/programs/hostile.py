"""Objects that record all calls of their methods hold tensors while memory runs out."""

import gc
import sys
import weakref

import torch

CALLS: list[str] = []
SIZE = 2 * 1024 * 1024


class Hostile:
    def __init__(self) -> None:
        self.kept = torch.empty(SIZE, device="cuda")
        self.myself = self

    def __getattribute__(self, name: str) -> object:
        CALLS.append(f"get {name}")
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> object:
        CALLS.append(f"getattr {name}")
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        CALLS.append("eq")
        raise RuntimeError

    def __hash__(self) -> int:
        CALLS.append("hash")
        return 1

    def __repr__(self) -> str:
        CALLS.append("repr")
        raise RuntimeError

    def __len__(self) -> int:
        CALLS.append("len")
        return -1

    def __iter__(self) -> object:
        CALLS.append("iter")
        raise RuntimeError

    def __del__(self) -> None:
        CALLS.append("del")

    @property
    def __class__(self) -> type:
        CALLS.append("class")
        return torch.Tensor


class Dict(dict):
    def __getitem__(self, key: object) -> object:
        CALLS.append("getitem")
        raise RuntimeError

    def items(self) -> object:
        CALLS.append("items")
        raise RuntimeError


class Text(str):
    def __str__(self) -> str:
        CALLS.append("str")
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        CALLS.append("text eq")
        return False

    __hash__ = str.__hash__


class Watched(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN206
        CALLS.append(f"torch {func}")
        return super().__torch_function__(func, types, args, kwargs or {})


def unpack(packed: torch.Tensor) -> torch.Tensor:
    CALLS.append("unpack")
    return packed


def pack(saved: torch.Tensor) -> torch.Tensor:
    return saved


objects = [Hostile() for _ in range(3)]
table = Dict({Text("a"): torch.empty(SIZE, device="cuda"), "b": objects[0]})
proxy = weakref.proxy(objects[1])
reference = weakref.ref(objects[2], lambda _: CALLS.append("gone"))
watched = torch.empty(SIZE, device="cuda").as_subclass(Watched)
leaf = torch.empty(SIZE, device="cuda", requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    packed = leaf.exp()
graph = leaf.exp()
base = graph[:10]
graph.add_(1)  # the view's own grad_fn is made when somebody asks for it
text = "é" * 3
everything = (objects, table, watched, leaf, packed, graph, base)


def counts() -> list[int]:
    return [sys.getrefcount(one) for one in (*everything, *objects, text)]


gc.collect()
gc.freeze()
gc.disable() if "disabled" in sys.argv else None
collects = gc.isenabled()
before = counts()
CALLS.clear()
told = ""
try:
    torch.empty(64 * SIZE, device="cuda")
except torch.OutOfMemoryError as error:
    told = str(error)
calls = list(CALLS)
print("calls", calls)
print("same references", before == counts())
print("same collector", gc.isenabled() == collects)
print("locals", sorted(name for name in dir() if name.startswith("_v")))
print("error", told.partition(".")[0])
