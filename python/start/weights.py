"""Records which memory modules and optimizers hold as weights.

A loader may copy weights from a file one by one, replace the tensors with which a model was made,
or fill a model that was made without memory. Call stacks do not show that. So PyTorch calls back
when a module gets a parameter or a buffer, and when an optimizer has made its first step. Functions
that move a model (`to`, `cuda`, `to_empty`) are followed as well. The mark `vramstow.weights
0xADDRESS …` lists the weights that are then on a GPU. The mark `vramstow.masters 0xADDRESS …` lists
copies of a module's weights in full precision that only an optimizer holds, and the state of
optimizers, both what modules store for them in buffers and what they hold themselves. The state is
examined after load_state_dict(), after a step, and at the end of the program. So state that comes
from a file or from the host is recorded like state that a step makes. If sixteen steps have not
changed the state, only every sixteenth step is examined.

There are no hooks on the calls of a model, because a compiled model would be compiled again when
such a hook is removed.

A wrapper may have moved all weights into one buffer (`p.data = buffer[…]`) before the first step,
without any callback. So the weights are examined at that step as well. A program may also move
weights in ways that call nothing back: `p.data = p.data.cuda()`, or an entry of
`module._parameters`. So modules that had no weight on a GPU are examined again when the program has
probably finished loading: at train(), eval(), load_state_dict(), a query of memory statistics,
torch.save, and at the end of the program. The marks `vramstow.save` and `vramstow.save_end` enclose
torch.save. Errors in this file never reach the program.
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

_MOST_IN_A_MARK = 50  # addresses, because a mark has at most 1,024 bytes
_MOST_LOOKS = 100  # a model on the host may be examined in every iteration
_MOST_PARTS = 1_000  # tensors of which one tensor may consist
_MOST_VALUES = 100_000  # values of one optimizer's state
# If an optimizer's state has not changed in this number of steps, only one of this number of steps
# is examined from then on. An examination costs as much as recording a hundred blocks.
_STEADY_STEPS = 16
_STATES = ("momentum", "prev_iter", "row_counter")


def _parts(tensor: object) -> Iterator[object]:
    """Yields the tensors that own this tensor's memory, which may be several (quantised)."""
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
    """Returns the address of a tensor's memory on a GPU; 0 if it has none."""
    if not getattr(tensor, "is_cuda", False):
        return 0
    try:
        return tensor.untyped_storage().data_ptr()
    except Exception:  # the tensor has no memory of its own
        return 0


def _addresses(tensors: Iterable[object]) -> set[int]:
    return {_address(part) for tensor in tensors for part in _parts(tensor)}


def _values_of(state: object) -> Iterator[object]:
    """Yields the values of an optimizer's state. Dictionaries and lists may be nested.

    The keys of dictionaries are parameters or names, so they are not yielded.
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
    """True if a buffer is an optimizer's state.

    Tables of fbgemm_gpu are updated in their backward pass, and store their state themselves.
    """
    return hasattr(type(module), "split_optimizer_states") and name.startswith(_STATES)


def _held_by(module: object) -> Iterator[tuple[object, bool]]:
    """Yields a module's own tensors, each with True if it is an optimizer's state."""
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
    """A set of objects compared by identity. Objects that were freed leave the set."""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref] = {}

    def __bool__(self) -> bool:
        return bool(self._references)

    def __iter__(self) -> Iterator[object]:
        for reference in list(self._references.values()):
            if (one := reference()) is not None:
                yield one

    def add(self, one: object) -> bool:
        """Adds an object. Returns False if it is there already."""
        number = id(one)
        if number in self._references:
            return False
        gone = weakref.ref(one, lambda _: self._references.pop(number, None))
        self._references[number] = gone
        return True

    def remove(self, one: object) -> None:
        self._references.pop(id(one), None)


class _Weights:
    """Records weights, and stores which weights of modules have 16 bits."""

    def __init__(self, mark: Callable[[bytes], int]) -> None:
        self._mark = mark
        # The number of 16-bit elements by address; 0 for other types.
        self._held: dict[int, int] = {}
        self._most_short = 0  # the largest total of 16-bit elements so far
        self._modules = _Living()
        self._has_new = False  # True if modules were added since the last examination

    def know(self, module: object) -> None:
        self._has_new |= self._modules.add(module)

    def tell_held(self, held: Iterable[tuple[object, bool]]) -> bool:
        """Records the tensors that modules hold, each with True if it is an optimizer's state.

        Returns False if none of them is on a GPU.
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
        """Records the weights of all modules again, because they may have moved.

        Other data may now be at their old addresses.
        """
        self._most_short = max(self._most_short, sum(self._held.values()))
        if not self._has_new:
            return
        self._has_new = False
        self._held = {}
        self.tell_held(held for module in self._modules for held in _held_by(module))

    def tell_stepped(self, tensors: Iterable[object]) -> None:
        """Records the tensors that an optimizer updates: weights, or its own copies of weights."""
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
        is_of_modules = 0 < sum(others.values()) <= 1.05 * short  # 5 % for padding
        if is_of_modules:
            _mark(self._mark, b"vramstow.masters", set(others))
        else:
            weights |= set(others)
        _mark(self._mark, b"vramstow.weights", weights)


class _Waiting:
    """Modules whose weights were not on a GPU when the modules got them."""

    def __init__(self, weights: _Weights) -> None:
        self._weights = weights
        self._modules = _Living()
        self._looks = 0  # examinations since the last module was added

    def __bool__(self) -> bool:
        return bool(self._modules)

    def add(self, module: object) -> None:
        if self._modules.add(module):
            self._looks = 0

    def remove(self, modules: Iterable[object]) -> None:
        for module in modules:
            self._modules.remove(module)

    def look(self) -> None:
        """Records the weights of the modules that have been moved to a GPU since."""
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
    """The tensors of an optimizer's first and last parameter.

    If they have not changed, the state as a whole has not changed. Examining all of it after each
    step would take too long.
    """

    def __init__(self, optimizer: object) -> None:
        state = optimizer.state
        ends = (next(iter(state.values())), next(reversed(state.values()))) if state else ()
        self._size = len(state)
        self._tensors = [part for value in _values_of(ends) for part in _parts(value)]
        self._addresses = [_address(part) for part in self._tensors]

    def keep(self) -> tuple:
        """Returns the data that is_still() compares.

        It contains weak references, because a new tensor may have the address or identity of a
        freed one.
        """
        references = [weakref.ref(t) if _address(t) else None for t in self._tensors]
        return (self._size, references, self._addresses)

    def is_still(self, kept: tuple) -> bool:
        size, references, addresses = kept
        if size != self._size or addresses != self._addresses:
            return False
        known = enumerate(references)
        return all(reference is None or reference() is self._tensors[i] for i, reference in known)


class _States:
    """Records the state of optimizers."""

    def __init__(self, mark: Callable[[bytes], int]) -> None:
        self._mark = mark
        self._optimizers = _Living()
        self._told: dict[int, tuple] = {}  # the recorded state of each optimizer
        self._looks: dict[int, int] = {}  # examinations that found a change
        self._unchanged: dict[int, int] = {}  # steps since the last change

    def begin(self, optimizer: object) -> None:
        """Forgets the steps of a freed optimizer that had the same identity."""
        self._unchanged[id(optimizer)] = 0

    def tell_stepped(self, optimizer: object) -> None:
        """Records the state after a step, if the state has changed and this step is examined."""
        number = id(optimizer)
        unchanged = self._unchanged[number]
        self._unchanged[number] = unchanged + 1
        if unchanged < _STEADY_STEPS or unchanged % _STEADY_STEPS == 0:
            self.tell(optimizer)

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
        self._unchanged[number] = 0
        trained = [t for group in optimizer.param_groups for t in group["params"]]
        gradients = [t.grad for t in trained if getattr(t, "grad", None) is not None]
        states = _addresses(_values_of(optimizer.state))
        _mark(self._mark, b"vramstow.masters", states - _addresses(trained + gradients))

    def tell_all(self) -> None:
        """Records state that is on a GPU now. A program moves it there after it has loaded it."""
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

    apply = Module._apply  # all functions that move or convert a module call it
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
    """Makes a function of PyTorch examine the waiting modules when it returns."""
    function = getattr(owner, name)
    running = _local()  # train() calls itself for each part of a model

    @functools.wraps(function)
    def looks(*args: object, **kwargs: object) -> object:
        if is_compiling() or not waiting or getattr(running, "inside", False):
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
                states.begin(optimizer)
                weights.tell_moved()
                weights.tell_stepped(t for group in optimizer.param_groups for t in group["params"])
            states.tell_stepped(optimizer)
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
    """Makes PyTorch call back when modules get tensors, and after optimizer steps."""
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
        except Exception:  # this PyTorch has no callback; only call stacks identify weights
            continue
