"""Tells the trace which memory modules and optimizers hold as weights, however it came there.

A loader may copy weights from a file one by one, put tensors in the place of those that a model
was made with, or fill a model that was made without memory; call stacks do not tell that. So
PyTorch calls back where a module gets a parameter or a buffer, and where an optimizer has made its
first step, and what moves a model (`to`, `cuda`, `to_empty`) is followed: `vramstow.weights
0xADDRESS …` tells what lies on a card then. Copies in full precision of a module's weights, that
only an optimizer has, are told as `vramstow.masters 0xADDRESS …`, as is the state of optimizers:
what modules keep for them as buffers, and what they hold themselves, whoever made it. That is
looked at after load_state_dict(), after a step that changed it, and at the end of the program, so
that state from a file or from the host is known as well as state that a step made.

A model that runs costs nothing: a hook on its calls would have a compiled model compiled anew when
it goes.

A wrapper may have put all weights into one buffer (`p.data = buffer[…]`) before the first step,
which calls nothing back: it is looked at then, too. A program may change weights behind PyTorch's
back: `p.data = p.data.cuda()`, or an entry of `module._parameters`. Modules that had no weight on a
card are therefore looked at again where a program shows that it is done with loading: train(),
eval(), load_state_dict(), a question for memory statistics, torch.save, and the end of the program.
`vramstow.save` and `vramstow.save_end` stand around torch.save. No error here reaches the program.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import weakref
from _thread import _local
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

_MOST_IN_A_MARK = 50  # a mark may have 1,024 bytes
_MOST_LOOKS = 100  # a model of the host may be asked for its memory in each iteration
_MOST_PARTS = 1_000  # of tensors that consist of others
_MOST_VALUES = 100_000  # of an optimizer's state
_STATES = ("momentum", "prev_iter", "row_counter")


def _parts(tensor: object) -> Iterator[object]:
    """The tensors that have the memory of this one: quantised ones and shards consist of others."""
    waiting = [tensor]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        local = getattr(part, "_local_tensor", None)
        flatten = getattr(type(part), "__tensor_flatten__", None)
        if local is not None:
            waiting.append(local)
        elif flatten is not None:
            waiting += [getattr(part, name) for name in flatten(part)[0]]
        else:
            yield part
            # bitsandbytes stores the scales of a quantised parameter here.
            absmax = getattr(getattr(part, "quant_state", None), "absmax", None)
            if absmax is not None:
                waiting.append(absmax)


def _address(tensor: object) -> int:
    """Where the memory of a tensor begins on a card; 0: it has none there."""
    if not getattr(tensor, "is_cuda", False):
        return 0
    try:
        return tensor.untyped_storage().data_ptr()
    except Exception:  # a tensor without memory of its own
        return 0


def _addresses(tensors: Iterable[object]) -> set[int]:
    return {_address(part) for tensor in tensors for part in _parts(tensor)}


def _values_of(state: object) -> Iterator[object]:
    """The values of an optimizer's state: dictionaries and lists may lie in each other.

    A dictionary's keys are none: they are the parameters, or names.
    """
    waiting = [state]
    for _ in range(_MOST_VALUES):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, (list, tuple, deque)):
            waiting += value
        elif value is not None:
            yield value


def _is_state(module: object, name: str) -> bool:
    """Whether a buffer is an optimizer's state: tables of fbgemm_gpu's learn in their backward
    pass, and no optimizer of PyTorch's has what they keep for it.
    """
    return hasattr(type(module), "split_optimizer_states") and name.startswith(_STATES)


def _held_by(module: object) -> Iterator[tuple[object, bool]]:
    """A module's own tensors, and whether each is an optimizer's state."""
    for parameter in module._parameters.values():
        yield parameter, False
    for name, buffer in module._buffers.items():
        yield buffer, _is_state(module, name)


def _mark(mark: Callable[[bytes], int], kind: bytes, addresses: set[int]) -> None:
    in_order = sorted(addresses - {0})
    for i in range(0, len(in_order), _MOST_IN_A_MARK):
        some = in_order[i : i + _MOST_IN_A_MARK]
        mark(kind + b" " + b" ".join(b"0x%x" % place for place in some))


class _Living:
    """Objects by identity, as long as they live. Their own comparison is not asked."""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref] = {}

    def __bool__(self) -> bool:
        return bool(self._references)

    def __iter__(self) -> Iterator[object]:
        for reference in list(self._references.values()):
            if (one := reference()) is not None:
                yield one

    def add(self, one: object) -> bool:
        """False: it is there already."""
        number = id(one)
        if number in self._references:
            return False
        gone = weakref.ref(one, lambda _: self._references.pop(number, None))
        self._references[number] = gone
        return True

    def remove(self, one: object) -> None:
        self._references.pop(id(one), None)


class _Weights:
    """Tells weights, and knows which of them modules hold in 16 bits."""

    def __init__(self, mark: Callable[[bytes], int]) -> None:
        self._mark = mark
        self._held: dict[int, int] = {}  # elements in 16 bits by address; 0: of another type
        self._most_short = 0  # the most elements in 16 bits that were held at one time
        self._modules = _Living()
        self._has_new = False  # among the modules, since all were looked at

    def know(self, module: object) -> None:
        self._has_new |= self._modules.add(module)

    def tell_held(self, held: Iterable[tuple[object, bool]]) -> bool:
        """Tells the tensors that modules hold, and whether each is an optimizer's state. False:
        none of them is on a card.
        """
        weights, states = set(), set()
        for tensor, is_state in held:
            is_short = getattr(getattr(tensor, "dtype", None), "itemsize", 0) == 2
            for part in _parts(tensor):
                address = _address(part)
                (states if is_state else weights).add(address)
                is_counted = is_short and not is_state and address != 0
                self._held[address] = part.untyped_storage().nbytes() // 2 if is_counted else 0
        _mark(self._mark, b"vramstow.weights", weights)
        _mark(self._mark, b"vramstow.masters", states)
        return not weights | states <= {0}

    def tell_moved(self) -> None:
        """Looks at all modules again: weights may lie elsewhere than where they were told, and
        something else may lie there.
        """
        self._most_short = max(self._most_short, sum(self._held.values()))
        if not self._has_new:
            return
        self._has_new = False
        self._held = {}
        self.tell_held(held for module in self._modules for held in _held_by(module))

    def tell_stepped(self, tensors: Iterable[object]) -> None:
        """Tells the tensors that an optimizer changes: weights, or its own copies of them."""
        import torch

        weights = set()
        others: dict[int, int] = {}
        for tensor in tensors:
            for part in _parts(tensor):
                address = _address(part)
                is_copy = address not in self._held and tensor.dtype == torch.float32
                if is_copy:
                    others[address] = part.numel()
                else:
                    weights.add(address)
        short = max(self._most_short, sum(self._held.values()))
        is_of_modules = 0 < sum(others.values()) <= 1.05 * short  # with padding
        if is_of_modules:
            _mark(self._mark, b"vramstow.masters", set(others))
        else:
            weights |= set(others)
        _mark(self._mark, b"vramstow.weights", weights)


class _Waiting:
    """Modules whose weights were not on a card when they got them."""

    def __init__(self, weights: _Weights) -> None:
        self._weights = weights
        self._modules = _Living()
        self._looks = 0  # since the last one was added

    def __bool__(self) -> bool:
        return bool(self._modules)

    def add(self, module: object) -> None:
        if self._modules.add(module):
            self._looks = 0

    def remove(self, modules: Iterable[object]) -> None:
        for module in modules:
            self._modules.remove(module)

    def look(self) -> None:
        """Tells the weights of those that have come to a card since."""
        if self._looks >= _MOST_LOOKS:
            return
        self._looks += 1
        found: list[tuple[object, bool]] = []
        for module in self._modules:
            held = list(_held_by(module))
            if any(_address(part) for tensor, _ in held for part in _parts(tensor)):
                found += held
                self._modules.remove(module)
        if found:
            self._weights.tell_held(found)


class _Ends:
    """Tensors of the first and the last parameter, which show that a state was changed as a whole:
    to look at all of it is long for each step.
    """

    def __init__(self, optimizer: object) -> None:
        state = optimizer.state
        ends = (next(iter(state.values())), next(reversed(state.values()))) if state else ()
        self._size = len(state)
        self._tensors = [part for value in _values_of(ends) for part in _parts(value)]
        self._addresses = [_address(part) for part in self._tensors]

    def keep(self) -> tuple:
        """Gives is_still() what it compares. A successor may have the same address or identity."""
        references = [weakref.ref(t) if _address(t) else None for t in self._tensors]
        return (self._size, references, self._addresses)

    def is_still(self, kept: tuple) -> bool:
        size, references, addresses = kept
        if size != self._size or addresses != self._addresses:
            return False
        known = enumerate(references)
        return all(reference is None or reference() is self._tensors[i] for i, reference in known)


class _States:
    """Tells what optimizers hold as their state."""

    def __init__(self, mark: Callable[[bytes], int]) -> None:
        self._mark = mark
        self._optimizers = _Living()
        self._told: dict[int, tuple] = {}  # by identity: the ends
        self._looks: dict[int, int] = {}  # that found a change

    def tell(self, optimizer: object, always: bool = False) -> None:
        number = id(optimizer)
        if self._optimizers.add(optimizer):
            self._told[number], self._looks[number] = (0, [], []), 0
        ends = _Ends(optimizer)
        is_told = self._looks[number] >= _MOST_LOOKS or ends.is_still(self._told[number])
        if is_told and not always:
            return
        self._told[number] = ends.keep()
        self._looks[number] += 1
        trained = [t for group in optimizer.param_groups for t in group["params"]]
        gradients = [t.grad for t in trained if getattr(t, "grad", None) is not None]
        states = _addresses(_values_of(optimizer.state))
        _mark(self._mark, b"vramstow.masters", states - _addresses(trained + gradients))

    def tell_all(self) -> None:
        """Tells what has come to the card since, as a program moves it that has loaded it."""
        for optimizer in self._optimizers:
            with contextlib.suppress(Exception):
                self.tell(optimizer)


def _follow_modules(weights: _Weights, waiting: _Waiting, is_compiling: Callable[[], bool]) -> None:
    from torch.nn.modules import module as modules

    def register(module: object, name: str, tensor: object, is_buffer: bool) -> None:
        if tensor is None or is_compiling():
            return
        try:
            weights.know(module)
            if not weights.tell_held([(tensor, is_buffer and _is_state(module, name))]):
                waiting.add(module)
        except Exception:
            return

    modules.register_module_parameter_registration_hook(
        functools.partial(register, is_buffer=False)
    )
    modules.register_module_buffer_registration_hook(functools.partial(register, is_buffer=True))


def _follow_moves(weights: _Weights, waiting: _Waiting, is_compiling: Callable[[], bool]) -> None:
    from torch.nn import Module

    apply = Module._apply  # what all that moves or converts a module goes through
    running = _local()

    @functools.wraps(apply)
    def moved(module: object, *args: object, **kwargs: object) -> object:
        if is_compiling() or getattr(running, "outer", None) is not None:
            return apply(module, *args, **kwargs)
        running.outer = module
        try:
            result = apply(module, *args, **kwargs)
        finally:
            running.outer = None
        try:
            for part in module.modules():
                weights.know(part)
            if weights.tell_held(held for part in module.modules() for held in _held_by(part)):
                waiting.remove(module.modules())
        except Exception:
            return result
        return result

    Module._apply = moved


def _look_after(owner: object, name: str, waiting: _Waiting, is_compiling: Callable) -> None:
    """Has a function of PyTorch's look at the modules that wait, when it is done."""
    function = getattr(owner, name)
    running = _local()  # train() calls itself for each part of a model

    @functools.wraps(function)
    def looks(*args: object, **kwargs: object) -> object:
        if not waiting or is_compiling() or getattr(running, "inside", False):
            return function(*args, **kwargs)
        running.inside = True
        try:
            result = function(*args, **kwargs)
        finally:
            running.inside = False
        with contextlib.suppress(Exception):
            waiting.look()
        return result

    setattr(owner, name, looks)


def _follow_loading(torch: object, waiting: _Waiting, is_compiling: Callable[[], bool]) -> None:
    for owner, name in (
        (torch.nn.Module, "train"),
        (torch.nn.Module, "load_state_dict"),
        (torch.cuda.memory, "memory_stats"),
    ):
        _look_after(owner, name, waiting, is_compiling)
    atexit.register(waiting.look)


def _follow_optimizers(
    weights: _Weights, states: _States, is_compiling: Callable[[], bool]
) -> None:
    from torch.optim import optimizer as optimizers

    known: dict[int, weakref.ref] = {}

    def after_step(optimizer: object, _: object, __: object) -> None:
        if is_compiling():
            return
        try:
            number = id(optimizer)
            if number not in known:
                known[number] = weakref.ref(optimizer, lambda _: known.pop(number, None))
                weights.tell_moved()
                weights.tell_stepped(t for group in optimizer.param_groups for t in group["params"])
            states.tell(optimizer)
        except Exception:
            return

    optimizers.register_optimizer_step_post_hook(after_step)


def _follow_loaded_states(torch: object, states: _States) -> None:
    load = torch.optim.Optimizer.load_state_dict

    @functools.wraps(load)
    def loaded(optimizer: object, *args: object, **kwargs: object) -> object:
        result = load(optimizer, *args, **kwargs)
        with contextlib.suppress(Exception):
            states.tell(optimizer, always=True)
        return result

    torch.optim.Optimizer.load_state_dict = loaded
    atexit.register(states.tell_all)


def _follow_saving(torch: object, waiting: _Waiting, mark: Callable[[bytes], int]) -> None:
    save = torch.save

    @functools.wraps(save)
    def marked(*args: object, **kwargs: object) -> object:
        with contextlib.suppress(Exception):
            waiting.look()
        mark(b"vramstow.save")
        try:
            return save(*args, **kwargs)
        finally:
            mark(b"vramstow.save_end")

    torch.save = torch.serialization.save = marked


def follow() -> None:
    """Makes PyTorch call back where modules get tensors, and after steps of optimizers."""
    import torch

    mark = ctypes.CDLL(None).vramstow_mark
    mark.argtypes = [ctypes.c_char_p]
    mark.restype = ctypes.c_int
    is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
    weights = _Weights(mark)
    waiting = _Waiting(weights)
    states = _States(mark)
    for part in (
        lambda: _follow_modules(weights, waiting, is_compiling),
        lambda: _follow_moves(weights, waiting, is_compiling),
        lambda: _follow_optimizers(weights, states, is_compiling),
        lambda: _follow_loaded_states(torch, states),
        lambda: _follow_saving(torch, waiting, mark),
        lambda: _follow_loading(torch, waiting, is_compiling),
    ):
        try:
            part()
        except Exception:  # a PyTorch that does not call back: call stacks tell what they can
            continue
