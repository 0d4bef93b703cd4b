"""Tells the library when nobody uses an optimizer's state, and has a step use it in pieces.

Between two steps of an optimizer its state is quiet: the library moves it first when the GPU is
full, beside the program's work. Where a step lacked room, later steps go through their parameters
in pieces: PyTorch's functions that update lists of tensors are called with parts of their lists in
turn. They update each tensor by itself, so that the results are the same, and what they allocate
meanwhile is of a piece's size. A function of another form is left alone, as are steps that are
compiled or captured, and all steps of a job that fits. No error here reaches the program.
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
_PIECE_BYTES = (16 << 20, 256 << 20)  # at least, and at most if there are several tensors

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
# Arguments that are the same for all tensors.
_SHARED = {
    *("grad_scale", "found_inf", "amsgrad", "has_complex", "beta1", "beta2", "lr", "weight_decay"),
    *("eps", "maximize", "capturable", "differentiable", "decoupled_weight_decay", "momentum"),
    *("dampening", "nesterov", "has_sparse_grad", "lr_decay", "alpha", "centered", "rho"),
    "momentum_decay",
}
# With these arguments set, a function may treat a tensor depending on the other tensors.
_LEFT_ALONE = ("differentiable", "has_sparse_grad", "has_complex")


class _Range(ctypes.Structure):
    """`struct vramstow_range` of the C API."""

    _fields_ = [("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64)]


class _Stats(ctypes.Structure):
    """The beginning of `struct vramstow_stats`."""

    _fields_ = [
        *((f"_{number}", ctypes.c_uint64) for number in range(15)),
        ("offloaded_bytes", ctypes.c_uint64),
        ("paused_bytes", ctypes.c_uint64),
    ]


class _Library:
    """The functions of the C API that this needs."""

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
        """How much memory lies on the host and is used there."""
        stats = _Stats()
        if self._get_stats(-1, ctypes.byref(stats), ctypes.sizeof(stats)) != 0:
            return 0
        return stats.offloaded_bytes - stats.paused_bytes


def _plain(value: object) -> object:
    """The tensor that a DTensor has on this rank, or the value itself."""
    return getattr(value, "_local_tensor", value)


def _range_of(tensor: object) -> tuple[int, int] | None:
    """Where the memory under a state's tensor lies, if it is large enough to be told."""
    import torch

    value = _plain(tensor)
    if type(value) is not torch.Tensor or not value.is_cuda:
        return None
    size = value.untyped_storage().nbytes()
    return (value.untyped_storage().data_ptr(), size) if size >= _LEAST_BYTES else None


def _ranges_of(tensors: Iterable[object]) -> list[tuple[int, int]]:
    return [found for found in map(_range_of, tensors) if found is not None]


class _QuietStates:
    """Tells the library when nobody uses the state of the optimizer that stepped last."""

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
    """The lists that a function updates, and where to cut them."""

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
        """Whether all that belongs to a parameter is there, and looks like the parameter.

        A function for lists may compute in another order where one of its tensors does not.
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
        """Parts whose states are of about the same size."""
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
        """The function may have put other tensors into its lists."""
        for each, values in zip(self._lists, piece, strict=True):
            if each:
                each[part] = values


def _is_dense(tensor: object) -> bool:
    """Whether the tensor's values lie one behind the other, in whatever order of dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _names_of(optimizer: str) -> tuple[str, ...]:
    shaped, single = _LISTS[optimizer]
    return ("params", "grads", *shaped, *single)


class _Pieces:
    """Lets functions of PyTorch's optimizers go through their lists in pieces.

    In steps of which it is told, by the thread that told so.
    """

    def __init__(self) -> None:
        self._stepping: set[int] = set()  # threads
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
            except Exception:  # tensors of another kind
                parts = []
            if len(parts) < 2:
                return function(*args, **kwargs)
            for part in parts:
                piece = lists.piece(part)
                function(*piece, **kwargs)
                lists.put_back(part, piece)
            return None

        return in_pieces


def follow() -> None:
    """Follows the steps of all optimizers from now on, where memory moves by itself."""
    if os.environ.get("VRAMSTOW_OFFLOAD", "").split(",")[0] != "auto":
        return
    import torch
    from torch.optim import optimizer as optimizers

    library = _Library()
    states = _QuietStates(library)
    pieces = _Pieces()
    is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
    lacked = False  # room, in a step

    def before_step(*_: object) -> None:
        states.end()
        if lacked and not is_compiling():
            pieces.begin_step()

    def after_step(optimizer: object, _: object, __: object) -> None:
        nonlocal lacked
        pieces.end_step()
        try:
            if is_compiling():
                return
            states.begin(optimizer)
            lacked = lacked or library.in_place_bytes() != 0
        except Exception:  # a state of another form: it moves as all memory does
            return

    optimizers.register_optimizer_step_pre_hook(before_step)
    optimizers.register_optimizer_step_post_hook(after_step)
