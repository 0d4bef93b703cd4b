"""Tells the library when an optimizer's state is unused, and splits optimizer steps into pieces.

Between two steps an optimizer's state is unused. If the GPU is full, the library evicts it first,
in parallel with the program's work. If a step lacked memory, later steps handle their parameters in
pieces: PyTorch's functions that update lists of tensors are called for one part of the lists after
the other. They update each tensor independently, so the results are the same, and their temporary
memory is only as large as for one piece. Functions with unknown parameters are not changed. Neither
are steps that are compiled or captured, nor any step of a job that fits. Errors in this file never
reach the program.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import os
from _thread import get_ident
from collections.abc import Callable, Iterable

_LEAST_BYTES = 1 << 20
_MOST_PIECES = 16
# The smallest size of a piece of memory, and the largest size of a piece that contains several
# tensors.
_PIECE_BYTES = (16 << 20, 256 << 20)

# The list arguments of PyTorch's functional optimizers besides parameters and gradients: lists of
# tensors with the parameter's shape, and lists with one value per parameter.
_LISTS = {
    "adadelta": (("square_avgs", "acc_deltas"), ("state_steps",)),
    "adagrad": (("state_sums",), ("state_steps",)),
    "adam": (("exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"), ("state_steps",)),
    "adamax": (("exp_avgs", "exp_infs"), ("state_steps",)),
    "adamw": (("exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"), ("state_steps",)),
    "nadam": (("exp_avgs", "exp_avg_sqs"), ("mu_products", "state_steps")),
    "radam": (("exp_avgs", "exp_avg_sqs"), ("state_steps",)),
    "rmsprop": (("square_avgs", "grad_avgs", "momentum_buffer_list"), ("state_steps",)),
    "sgd": (("momentum_buffer_list",), ()),
}
_FORMS = ("_single_tensor_", "_multi_tensor_", "_fused_")
# Arguments that are not lists; their values are the same for all tensors.
_SHARED = {
    *("grad_scale", "found_inf", "amsgrad", "has_complex", "beta1", "beta2", "lr", "weight_decay"),
    *("eps", "maximize", "capturable", "differentiable", "decoupled_weight_decay", "momentum"),
    *("dampening", "nesterov", "has_sparse_grad", "lr_decay", "alpha", "centered", "rho"),
    "momentum_decay",
}
# If one of these arguments is set, the update of a tensor may depend on other tensors.
_LEFT_ALONE = ("differentiable", "has_sparse_grad", "has_complex")


class _Range(ctypes.Structure):
    """`struct vramstow_range` of the C API."""

    _fields_ = [("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class _Stats(ctypes.Structure):
    """The first fields of `struct vramstow_stats`."""

    _fields_ = [
        *((f"_{number}", ctypes.c_uint64) for number in range(15)),
        ("offloaded_bytes", ctypes.c_uint64),
        ("paused_bytes", ctypes.c_uint64),
    ]


class _Library:
    """The functions of the C API that this file uses."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._quiet = library.vramstow_quiet
        self._quiet.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        self._quiet.restype = ctypes.c_int
        self._get_stats = library.vramstow_get_stats
        self._get_stats.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        self._get_stats.restype = ctypes.c_int

    def tell_quiet(self, ranges: list[tuple[int, int]]) -> None:
        self._quiet((_Range * len(ranges))(*ranges) if ranges else None, len(ranges))

    def in_place_bytes(self) -> int:
        """Returns the bytes that are offloaded to the host but not paused, so that the GPU uses
        them there.
        """
        stats = _Stats()
        if self._get_stats(-1, ctypes.byref(stats), ctypes.sizeof(stats)) != 0:
            return 0
        return stats.offloaded_bytes - stats.paused_bytes


def _plain(value: object) -> object:
    """Returns the local tensor of a DTensor, or the value itself."""
    return getattr(value, "_local_tensor", value)


def _range_of(tensor: object) -> tuple[int, int] | None:
    """Returns the address and bytes of a state's tensor; None if it is too small to be reported."""
    import torch

    value = _plain(tensor)
    if type(value) is not torch.Tensor or not value.is_cuda:
        return None
    size = value.untyped_storage().nbytes()
    return (value.untyped_storage().data_ptr(), size) if size >= _LEAST_BYTES else None


def _ranges_of(tensors: Iterable[object]) -> list[tuple[int, int]]:
    return [found for found in map(_range_of, tensors) if found is not None]


class _QuietStates:
    """Tells the library that the state of the optimizer that stepped last is unused."""

    def __init__(self, library: _Library) -> None:
        self._library = library
        self._is_told = False

    def begin(self, optimizer: object) -> None:
        dictionaries = [each for each in optimizer.state.values() if isinstance(each, dict)]
        ranges = _ranges_of(tensor for each in dictionaries for tensor in each.values())
        if ranges:
            self._library.tell_quiet(ranges)
            self._is_told = True

    def end(self) -> None:
        if self._is_told:
            self._is_told = False
            self._library.tell_quiet([])


class _Lists:
    """The lists of tensors that one function updates, and where to split them."""

    def __init__(self, lists: tuple[list, ...], shaped: int, is_foreach: bool) -> None:
        self._lists = lists
        self._shaped = lists[2 : 2 + shaped]
        self._is_foreach = is_foreach

    def can_be_cut(self) -> bool:
        count = len(self._lists[0])
        if any(type(each) is not list or len(each) not in (0, count) for each in self._lists):
            return False
        return all(self._is_usual(i) for i in range(count))

    def _is_usual(self, i: int) -> bool:
        """True if all tensors of a parameter exist and have the parameter's layout.

        With other layouts, a function for lists may compute in another order.
        """
        import torch

        first = _plain(self._lists[0][i])
        for each in self._lists:
            value = _plain(each[i]) if each else first
            if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.is_sparse:
                return False
        if not self._is_foreach:
            return True
        alike = [_plain(each[i]) for each in (*self._lists[1:2], *self._shaped) if each]
        return _is_dense(first) and all(
            value.dtype == first.dtype
            and value.device == first.device
            and value.shape == first.shape
            and value.stride() == first.stride()
            for value in alike
        )

    def cuts(self) -> list[slice]:
        """Returns parts whose states have about the same size."""
        sizes = [
            sum(_plain(each[i]).nbytes for each in self._shaped if each)
            for i in range(len(self._lists[0]))
        ]
        least, most = _PIECE_BYTES
        wanted = min(max(sum(sizes) // _MOST_PIECES, least), most)
        parts, begin, size = [], 0, 0
        for i, more in enumerate(sizes):
            if size > wanted // 16 and size + more > wanted:
                parts.append(slice(begin, i))
                begin, size = i, 0
            size += more
        return [*parts, slice(begin, len(self._lists[0]))]

    def piece(self, part: slice) -> list[list]:
        return [each[part] for each in self._lists]

    def put_back(self, part: slice, piece: list[list]) -> None:
        """Copies tensors back that the function has replaced in its lists."""
        for each, values in zip(self._lists, piece):
            if each:
                each[part] = values


def _is_dense(tensor: object) -> bool:
    """True if the tensor's values are contiguous, in any order of the dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _names_of(optimizer: str) -> tuple[str, ...]:
    shaped, single = _LISTS[optimizer]
    return ("params", "grads", *shaped, *single)


class _Pieces:
    """Makes the functions of PyTorch's optimizers handle their lists in pieces.

    This applies between begin_step() and end_step(), in the thread that called them.
    """

    def __init__(self) -> None:
        self._stepping: set[int] = set()  # the threads that are in a step
        self._is_ready = False

    def begin_step(self) -> None:
        if not self._is_ready:
            self._is_ready = True
            self._replace_all()
        self._stepping.add(get_ident())

    def end_step(self) -> None:
        self._stepping.discard(get_ident())

    def _replace_all(self) -> None:
        from importlib import import_module

        for optimizer in _LISTS:
            try:
                module = import_module(f"torch.optim.{optimizer}")
            except ImportError:
                continue
            names = [form + optimizer for form in _FORMS if hasattr(module, form + optimizer)]
            lists = _names_of(optimizer)
            if names and all(
                self._is_known(getattr(module, name), module, lists) for name in names
            ):
                for name in names:
                    setattr(module, name, self._in_pieces(getattr(module, name), optimizer))

    @staticmethod
    def _is_known(function: Callable, module: object, names: tuple[str, ...]) -> bool:
        if not inspect.isfunction(function) or function.__module__ != module.__name__:
            return False
        has = tuple(inspect.signature(function).parameters)
        return has[: len(names)] == names and _SHARED.issuperset(has[len(names) :])

    def _in_pieces(self, function: Callable, optimizer: str) -> Callable:
        import torch

        names = _names_of(optimizer)
        shaped = len(_LISTS[optimizer][0])

        is_compiling = getattr(torch.compiler, "is_compiling", lambda: True)
        is_foreach = function.__name__.startswith("_multi_tensor_")

        def lists_of(args: tuple, kwargs: dict) -> _Lists | None:
            if get_ident() not in self._stepping or len(args) != len(names):
                return None
            if any(kwargs.get(name) for name in _LEFT_ALONE):
                return None
            if torch.cuda.is_current_stream_capturing():
                return None
            lists = _Lists(args, shaped, is_foreach)
            return lists if lists.can_be_cut() else None

        @functools.wraps(function)
        def in_pieces(*args: object, **kwargs: object) -> object:
            if is_compiling():
                return function(*args, **kwargs)
            try:
                lists = lists_of(args, kwargs)
                parts = lists.cuts() if lists is not None else []
            except Exception:  # tensors of an unknown kind
                parts = []
            if len(parts) < 2:
                return function(*args, **kwargs)
            for part in parts:
                piece = lists.piece(part)
                function(*piece, **kwargs)
                lists.put_back(part, piece)
            return None

        return in_pieces


def _uncompiled(function: Callable) -> Callable:
    """Returns a function that calls this one, and that Dynamo never compiles by itself.

    If Dynamo compiles a caller, it traces the returned function as one that does nothing.
    torch.compiler.disable would break the caller's graph, and imports Dynamo.
    """
    import torch

    is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
    # These functions are private, and a later release may have others.
    frames = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    set_compiler = getattr(frames, "set_eval_frame", lambda _: None)

    def call(*args: object) -> None:
        if is_compiling():
            return
        compiler = set_compiler(None)
        try:
            function(*args)
        finally:
            set_compiler(compiler)

    if hasattr(frames, "skip_code"):
        frames.skip_code(call.__code__)
    elif hasattr(frames, "_FrameExecStrategy"):
        skip = frames._FrameAction.SKIP
        frames.set_code_exec_strategy(call.__code__, frames._FrameExecStrategy(skip, skip))
    return call


def follow() -> None:
    """Follows the steps of all optimizers from now on, if memory is offloaded automatically."""
    if os.environ.get("VRAMSTOW_OFFLOAD", "").split(",")[0] != "auto":
        return
    from torch.optim import optimizer as optimizers

    library = _Library()
    states = _QuietStates(library)
    pieces = _Pieces()
    lacked = False  # True if an earlier step lacked memory

    def before_step(*_: object) -> None:
        states.end()
        if lacked:
            pieces.begin_step()

    def after_step(optimizer: object, _: object, __: object) -> None:
        nonlocal lacked
        pieces.end_step()
        try:
            states.begin(optimizer)
            lacked = lacked or library.in_place_bytes() != 0
        except Exception:  # a state of an unknown form is evicted like other memory
            return

    optimizers.register_optimizer_step_pre_hook(_uncompiled(before_step))
    optimizers.register_optimizer_step_post_hook(_uncompiled(after_step))
