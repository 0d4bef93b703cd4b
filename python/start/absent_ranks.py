"""Lets PyTorch's process groups work although the other ranks of the job do not exist.

Only the ranks that the simulated card's option rank= names run, each alone. The key-value store
derives the entries of the other ranks from those of this rank, so no rendezvous, barrier or
exchange of ids waits. Collectives of CUDA tensors go through the stand-in for NCCL, which works in
the same way. Collectives of CPU tensors go through PyTorch's own fake process group. A launcher
becomes the script that it would have started.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
from collections.abc import Callable
from types import ModuleType

_C10D = "torch.distributed.distributed_c10d"
_RENDEZVOUS = "torch.distributed.rendezvous"
_LAUNCHER = "torch.distributed.launcher.api"
_STAGE = "torch.distributed.pipelining.stage"
_DEEPSPEED = "deepspeed.launcher.runner"
_DEEPSPEED_CHECKS = "deepspeed.runtime.zero.utils"

# Modules, each with the function that changes the module after it has been imported.
_CHANGES: dict[str, Callable[[ModuleType], None]] = {
    _RENDEZVOUS: lambda module: _prepare_rendezvous(module),
    _C10D: lambda module: _prepare_groups(module),
    _LAUNCHER: lambda module: _prepare_launcher(module),
    _STAGE: lambda module: _prepare_stages(module),
    _DEEPSPEED: lambda module: _prepare_deepspeed(module),
    _DEEPSPEED_CHECKS: lambda module: _prepare_deepspeed_checks(module),
}
MODULES = tuple(_CHANGES)

_UNIQUE_ID_BYTES = 128  # bytes of ncclUniqueId
_MOST_KEYS = 16  # keys with the same text but other numbers that are compared


def prepare(module: ModuleType) -> None:
    """Changes one of MODULES just after its import."""
    _CHANGES[module.__name__](module)


def _world() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


@functools.cache
def _say_once(text: str) -> None:
    print(f"vramstow: {text}", file=sys.stderr, flush=True)


# --- the store --------------------------------------------------------------------------------


@functools.cache
def _store_class() -> type:
    from torch.distributed import Store

    class LonelyStore(Store):
        """A store of this rank's entries, which also answers for the absent ranks."""

        def __init__(self) -> None:
            super().__init__()
            self._values: dict[str, bytes] = {}
            # Keys of the store. Keys that differ only in their digits are in one group.
            self._alike: dict[str, list[str]] = {}

        def set(self, key: str, value: str | bytes) -> None:
            if key not in self._values:
                self._alike.setdefault(_without_numbers(key), []).append(key)
            self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

        def get(self, key: str) -> bytes:
            if key not in self._values:
                self.set(key, self._answer_for_others(key))
            return self._values[key]

        def _answer_for_others(self, key: str) -> bytes:
            alike = self._alike.get(_without_numbers(key), [])
            own = f"{os.environ.get('RANK', '0')}"
            for other in alike[-_MOST_KEYS:]:
                if own in re.findall(r"\d+", other):
                    return self._values[other]
            if alike:
                return self._values[alike[-1]]
            if "cuda" in key:
                return _unique_id()
            if key.endswith(":last_worker") or key.endswith("/last_member"):
                return b"1"
            raise RuntimeError(
                f"vramstow: the store has no key {key!r}: another rank, which does not run, would "
                "have set it, and this rank has set no similar key"
            )

        def add(self, key: str, value: int) -> int:
            """Adds the value for every rank of the job, as if all had added it before."""
            number = int(self._values.get(key, b"0")) + value * (_world() if value > 0 else 1)
            self.set(key, str(number))
            return number

        def wait(self, keys: list[str], timeout: object = None) -> None:
            """Returns at once, because absent ranks count as finished."""

        def check(self, keys: list[str]) -> bool:
            return all(key in self._values for key in keys)

        def compare_set(self, key: str, expected: str, desired: str) -> bytes:
            if self._values.get(key, b"").decode(errors="replace") == expected:
                self.set(key, desired)
            return self._values.get(key, expected.encode())

        def delete_key(self, key: str) -> bool:
            if key in self._values:
                self._alike[_without_numbers(key)].remove(key)
            return self._values.pop(key, None) is not None

        def num_keys(self) -> int:
            return len(self._values)

        def append(self, key: str, value: str | bytes) -> None:
            more = value.encode() if isinstance(value, str) else bytes(value)
            self.set(key, self._values.get(key, b"") + more)

        def multi_get(self, keys: list[str]) -> list[bytes]:
            return [self.get(key) for key in keys]

        def multi_set(self, keys: list[str], values: list[bytes]) -> None:
            for key, value in zip(keys, values):
                self.set(key, value)

        def has_extended_api(self) -> bool:
            return True

        def set_timeout(self, timeout: object) -> None:
            """Does nothing, because this store never waits."""

        def clone(self) -> LonelyStore:
            return self

    return LonelyStore


def _without_numbers(key: str) -> str:
    return re.sub(r"\d+", "#", key)


@functools.cache
def _the_store() -> object:
    """Returns a store that is never freed, because C++ holds only its C++ part."""
    return _store_class()()


def _unique_id() -> bytes:
    """Returns an id for a communicator, in place of an absent rank 0."""
    nccl = ctypes.CDLL("libnccl.so.2")
    made = ctypes.create_string_buffer(_UNIQUE_ID_BYTES)
    if nccl.ncclGetUniqueId(made) != 0:
        raise RuntimeError("vramstow: NCCL returns no id")
    return made.raw


class _StoreOfOthers:
    """Replaces TCPStore and FileStore: every constructor returns the process's only store."""

    def __new__(cls, *_: object, **__: object) -> object:
        return _the_store()


def _prepare_rendezvous(module: ModuleType) -> None:
    package = sys.modules["torch.distributed"]  # torch itself is still being imported
    # Disables the monitor of NCCL's process group. Its thread would ask the store once a second,
    # even after Python has ended.
    os.environ.setdefault("TORCH_NCCL_ENABLE_MONITORING", "0")
    module._create_c10d_store = lambda *_, **__: _the_store()
    for name in ("TCPStore", "FileStore"):
        setattr(module, name, _StoreOfOthers)
        setattr(package, name, _StoreOfOthers)


# --- process groups ---------------------------------------------------------------------------


def _prepare_groups(module: ModuleType) -> None:
    _wrap_start(module)
    if hasattr(module, "ProcessGroupGloo"):
        module.ProcessGroupGloo = _gloo_class(module)
        module._create_process_group_wrapper = lambda wrapped_pg, *_, **__: wrapped_pg
    # PyTorch usually makes a new group by splitting an existing communicator. A split would need
    # answers of the absent ranks, so each group gets a new communicator.
    if hasattr(module, "_get_split_source"):
        module._get_split_source = lambda *_, **__: None
    if hasattr(module, "split_group"):
        module.split_group = _split_group_of(module)
    module.monitored_barrier = lambda *_, **__: None
    _wrap_objects(module)


def _wrap_start(module: ModuleType) -> None:
    start = module.init_process_group

    @functools.wraps(start)
    def init_process_group(*arguments: object, **named: object) -> object:
        if named.get("store") is not None:
            named["store"] = _the_store()
        started = start(*arguments, **named)
        _compare_with_card(module.get_rank(), module.get_world_size())
        return started

    module.init_process_group = init_process_group


def _compare_with_card(rank: int, world: int) -> None:
    """Warns if rank and world size differ from the simulated card's options.

    Then the program has started its ranks itself, and each of them appears in the summary.
    """
    told = [
        int(found[1]) if found else None
        for name in ("rank", "world")
        for found in [re.search(rf",{name}=(\d+)", os.environ.get("VRAMSTOW_SIMULATE", ""))]
    ]
    if told != [rank, world]:
        _say_once(
            f"this process joins as rank {rank} of {world}, but the simulated GPU is set up for "
            f"rank={told[0]} of world={told[1]}: the job starts ranks itself. Start one program "
            "alone, and let it read RANK, LOCAL_RANK and WORLD_SIZE, as under torchrun."
        )


def _gloo_class(module: ModuleType) -> type:
    from torch._C._distributed_c10d import FakeProcessGroup

    real = module.ProcessGroupGloo

    class ProcessGroupGloo:
        """Makes a group of CPU tensors in which every rank does what this rank does."""

        Options = getattr(real, "_Options", getattr(real, "Options", None))
        _Options = Options

        def __new__(cls, store: object, rank: int, size: int, *_: object, **__: object) -> object:
            create = getattr(FakeProcessGroup, "_create_internal", FakeProcessGroup)
            options = getattr(FakeProcessGroup, "Options", None)
            if options is None:
                return create(rank, size)
            same = options()
            if hasattr(same, "simulate_uniform_ranks"):
                same.simulate_uniform_ranks = True
            return create(rank, size, same)

    return ProcessGroupGloo


def _split_group_of(module: ModuleType) -> Callable[..., object]:
    split = module.split_group

    @functools.wraps(split)
    def split_group(
        parent_pg: object = None,
        split_ranks: list[list[int]] | None = None,
        timeout: object = None,
        pg_options: object = None,
        group_desc: str | None = None,
        *_: object,
        **__: object,
    ) -> object:
        parent = parent_pg or module._get_default_group()
        to_global = module.get_process_group_ranks(parent)
        own = parent.rank()
        for ranks in split_ranks or []:
            if own in ranks:
                members = [to_global[rank] for rank in ranks]
                return module.new_group(members, timeout=timeout, group_desc=group_desc)
        return module.GroupMember.NON_GROUP_MEMBER

    return split_group


def _wrap_objects(module: ModuleType) -> None:
    """Makes collectives of objects return this rank's own object for every absent rank.

    PyTorch would pickle objects into tensors and exchange these.
    """

    def size_of(group: object) -> int:
        return module.get_world_size(group)

    def is_own(rank: int | None, group: object, group_rank: int | None) -> bool:
        if group_rank is not None:
            return module.get_rank(group) == group_rank
        return module.get_rank() == rank

    def go_on(call: Callable[..., object], *arguments: object, **named: object) -> None:
        """Runs the collective only to allocate its memory. Its result may be no valid pickle."""
        try:
            call(*arguments, **named)
        except Exception:  # bytes that were not computed may be no pickle
            return

    gather_all, gather, broadcast = (
        module.all_gather_object,
        module.gather_object,
        module.broadcast_object_list,
    )
    scatter = module.scatter_object_list

    @functools.wraps(gather_all)
    def all_gather_object(object_list: list, obj: object, group: object = None) -> None:
        go_on(gather_all, object_list, obj, group)
        if module.get_rank(group) >= 0:
            object_list[:] = [obj] * size_of(group)

    @functools.wraps(gather)
    def gather_object(
        obj: object,
        object_gather_list: list | None = None,
        dst: int | None = None,
        group: object = None,
        group_dst: int | None = None,
    ) -> None:
        if object_gather_list is not None:
            object_gather_list[:] = [obj] * size_of(group)

    @functools.wraps(broadcast)
    def broadcast_object_list(
        object_list: list,
        src: int | None = None,
        group: object = None,
        device: object = None,
        group_src: int | None = None,
    ) -> None:
        source = 0 if src is None and group_src is None else src
        if is_own(source, group, group_src):
            go_on(broadcast, list(object_list), module.get_rank(), group, device)
        else:
            _say_once(
                "broadcast_object_list from a rank that does not run leaves the objects unchanged."
            )

    @functools.wraps(scatter)
    def scatter_object_list(
        scatter_object_output_list: list,
        scatter_object_input_list: list | None = None,
        src: int | None = None,
        group: object = None,
        group_src: int | None = None,
    ) -> None:
        if scatter_object_input_list:
            own = module.get_rank(group)
            scatter_object_output_list[0] = scatter_object_input_list[own]

    module.all_gather_object = all_gather_object
    module.gather_object = gather_object
    module.broadcast_object_list = broadcast_object_list
    module.scatter_object_list = scatter_object_list


def _prepare_stages(module: ModuleType) -> None:
    """Lets a pipeline stage derive the shapes that its neighbours would have sent."""
    forward = getattr(module, "_StageForwardMeta", None)
    backward = getattr(module, "_StageBackwardMeta", None)
    if forward is None or backward is None:
        return

    def _recv_meta(self: object, source: int) -> object:
        known = self._stage_meta
        if source > self.stage_index:
            return backward(backward_metas=module._derive_grad_metas(known.outputs))
        if self._user_meta.inputs is None:
            raise RuntimeError(
                f"vramstow: stage {self.stage_index} needs the output of stage {source}, which "
                "does not run: give its shape with PipelineStage(input_args=...)"
            )
        return forward(forward_metas=self._user_meta.inputs)

    module.PipelineStage._recv_meta = _recv_meta
    module.PipelineStage._send_meta = lambda *_: None


def _prepare_deepspeed_checks(module: ModuleType) -> None:
    """Lets ZeRO's comparisons with rank 0 succeed if rank 0 is absent.

    ZeRO allocates a placeholder for rank 0's list. It is still allocated, but the list is this
    rank's.
    """
    fetch, compare_lengths = module.get_lst_from_rank0, module.assert_lst_len_same_as_other_ranks

    def get_lst_from_rank0(lst: list[int]) -> list[int]:
        fetch(lst)
        return list(lst)

    def assert_lst_len_same_as_other_ranks(lst: list[int]) -> None:
        try:
            compare_lengths(lst)
        except RuntimeError as error:
            if "disagreement" not in str(error):
                raise

    module.get_lst_from_rank0 = get_lst_from_rank0
    module.assert_lst_len_same_as_other_ranks = assert_lst_len_same_as_other_ranks


# --- launchers --------------------------------------------------------------------------------


def _prepare_launcher(module: ModuleType) -> None:
    """Makes torchrun, and launchers based on it, run the script in this process, as this rank."""

    def become(self: object, *arguments: object) -> object:
        config = self._config
        _compare_with_world(config.max_nodes * config.nproc_per_node)
        local_rank = os.environ["LOCAL_RANK"]
        arguments = tuple(
            one.replace("${local_rank}", local_rank) if isinstance(one, str) else one
            for one in arguments
        )
        if getattr(config, "virtual_local_rank", False):
            _see_one_card(int(local_rank))
        if callable(self._entrypoint):
            return {int(local_rank): self._entrypoint(*arguments)}
        _become([self._entrypoint, *(str(one) for one in arguments)])
        return None

    module.elastic_launch.__call__ = become


def _see_one_card(local_rank: int) -> None:
    """Makes only this rank's GPU visible, as number 0, as torchrun's option does."""
    visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
    os.environ["CUDA_VISIBLE_DEVICES"] = visible[local_rank] if visible else str(local_rank)
    os.environ["LOCAL_RANK"] = "0"


def _prepare_deepspeed(module: ModuleType) -> None:
    """Makes DeepSpeed's launcher run the script in this process, with the argument --local_rank."""

    def main(args: list[str] | None = None) -> None:
        told = module.parse_args(args)
        if getattr(told, "autotuning", ""):
            _say_once(
                "deepspeed --autotuning starts and measures many jobs, which is not possible "
                "without the other ranks. Run one configuration (leave --autotuning out), or "
                "search the configurations with vramstow plan."
            )
            sys.exit(2)
        if told.num_gpus > 0 and told.num_nodes > 0:
            _compare_with_world(told.num_gpus * told.num_nodes)
        elif told.num_gpus > 0:
            _compare_with_machine(told.num_gpus)  # a file of hosts may contain the number of nodes
        command = [] if told.no_python else [sys.executable, "-u"]
        command += ["-m"] if told.module else []
        command.append(told.user_script)
        if not told.no_local_rank:
            command.append(f"--local_rank={os.environ['LOCAL_RANK']}")
        _become([*command, *told.user_args])

    module.main = main


def _compare_with_world(asked: int) -> None:
    if asked != _world():
        _say_once(
            f"the launcher requests {asked} ranks; the job is simulated as one of {_world()} "
            "ranks, as world= says."
        )


def _compare_with_machine(asked: int) -> None:
    ranks = int(os.environ["LOCAL_WORLD_SIZE"])
    if asked != ranks:
        _say_once(
            f"the launcher requests {asked} ranks on a machine; the job is simulated with "
            f"{ranks}, as world= and nodes= say."
        )


def _become(command: list[str]) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvp(command[0], command)
