"""The notebook extension: %load_ext vramstow, %%vramstow, %vramstow held, %vramstow free.

The kernel is observed from within (vramstow.observe), so it can be started as usual. An owner is
shown with the cell that bound its name: `model` of cell 3, `Out[5]`, the traceback of an error.
After an out-of-memory error in a cell, its explanation follows the traceback.

The extension holds no tensor, only names, sizes and the texts of cells. Sizes are bytes.
"""

from __future__ import annotations

import ast
import asyncio
import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING

from vramstow import library
from vramstow.holding import Census, census
from vramstow.notebook_page import Page, Row, Watch, size_text
from vramstow.observing import Observation, ObserveError, explain, observe
from vramstow.tracking import track

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

_HELP = """\
%%vramstow          (first line of a cell) what the cell allocates, what stays, and what holds it
%vramstow held      what holds GPU memory now, by cell and name
%vramstow free      what only the notebook's history holds (Out, _, the last traceback)
%vramstow free now  forgets that, collects garbage and empties PyTorch's cache"""
# Patterns for objects that only the notebook's history references. The census (a reference scan)
# names such an object by a name of the notebook, or by a name inside IPython.
_RESULT = re.compile(r"(?:global (?:Out|_oh)\[|global _|\[\"_)(\d+)(?![A-Za-z0-9])")
_LATEST = re.compile(r"(?:global (_{1,3})|\[\"(_{1,3})\"\]|displayhook\.(_{1,3}))(?![A-Za-z0-9_])")
_ERROR = re.compile(
    r"^exception being handled|^(?:global )?sys\.last_(?:value|exc|traceback)\b|\.InteractiveTB\b"
    r"|\.last_execution_result\.error_"
)
_KEPT = re.compile(r"\.last_execution_result\.result\b")
_LAST_ERROR = "the last error"
_LAST_RESULT = "the last result"
_FRAME = re.compile(r"frame .*")
_IPYTHON_FILE = re.compile(r"<ipython-input-(\d+)-[0-9a-f]*…?>")  # may be shortened
_NAME = re.compile(r"global ([A-Za-z_]\w*)")


def names_made(cell: str) -> set[str]:
    """Returns the global names that a cell binds; empty if the cell is not Python."""
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        return set()
    names: set[str] = set()

    class Binds(ast.NodeVisitor):
        def visit_Name(self, node: ast.Name) -> None:
            if isinstance(node.ctx, ast.Store):
                names.add(node.id)

        def _defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
            names.add(node.name)  # names inside it are local

        visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _defined

        def visit_comprehension(self, node: ast.comprehension) -> None:
            self.visit(node.iter)  # its variables are local

        def visit_Lambda(self, node: ast.Lambda) -> None:
            return

    Binds().visit(tree)
    return names


def history_name(holder: str, bound: Container[str] = ()) -> str | None:
    """Returns `Out[5]`, `_` or `the last error` if the history is the owner; else None.

    `bound` are names that cells bound; what they reference is not history.
    """
    found = _NAME.match(holder)
    if found is not None and found[1] in bound:
        return None
    result = _RESULT.search(holder)
    if result is not None:
        return f"Out[{result[1]}]"
    latest = _LATEST.search(holder)
    if latest is not None:
        return next(name for name in latest.groups() if name)
    if _KEPT.search(holder):
        return _LAST_RESULT
    return _LAST_ERROR if _ERROR.search(holder) else None


class Cells:
    """Stores the last cell that bound each name, and the file name of each cell's code."""

    def __init__(self) -> None:
        self._cell_of: dict[str, int] = {}
        self._cell_of_file: dict[str, int] = {}
        self.failed: int | None = None  # the cell that raised the last error

    def note(self, number: int, names: Iterable[str]) -> None:
        """Notes that this cell bound these names."""
        self._cell_of.update(dict.fromkeys(names, number))

    def note_file(self, number: int, file: str) -> None:
        """Notes the file name of this cell's code."""
        self._cell_of_file[os.path.basename(file)] = number

    def keep(self, names: Container[str]) -> None:
        """Drops all names but these, which the user's code has bound and not deleted."""
        self._cell_of = {name: cell for name, cell in self._cell_of.items() if name in names}

    def history_name(self, holder: str) -> str | None:
        """Returns the name of the history if it is the owner, and no name that a cell bound."""
        return history_name(holder, self._cell_of)

    def cell_of(self, name: str) -> int | None:
        """Returns the last cell that bound this name; None if no cell did."""
        return self._cell_of.get(name)

    def told(self, holder: str) -> str:
        """Returns `model.0.weight of cell 3` for `global model.0.weight`."""
        past = self.history_name(holder)
        if past == _LAST_ERROR and self.failed is not None:
            frame = _FRAME.search(holder)
            where = "" if frame is None else f": {frame[0]}"
            return self.with_cells(f"the traceback of cell {self.failed}{where}")
        if past is not None:
            return past
        found = _NAME.match(holder)
        number = None if found is None else self._cell_of.get(found[1])
        text = holder.removeprefix("global ")
        return text if number is None else f"{text} of cell {number}"

    def with_cells(self, text: str) -> str:
        """Returns the text with `cell 10:2` in place of Python's file name of the cell."""
        for file, number in self._cell_of_file.items():
            text = text.replace(f"{file}:", f"cell {number}:")
        return _IPYTHON_FILE.sub(self._cell_of_ipython_file, text)

    def _cell_of_ipython_file(self, found: re.Match[str]) -> str:
        # A cell that a magic runs has the number after that of its cell in some releases of
        # IPython, so the hash decides.
        start = found[0].rstrip("…>")
        for file, number in self._cell_of_file.items():
            if file.startswith(start):
                return f"cell {number}"
        return f"cell {found[1]}"


@dataclass(frozen=True)
class _Running:
    """A cell that has begun, and the identity of each object to which a name referred then."""

    info: ExecutionInfo
    objects: dict[str, int]


class _Displayed:
    """An error that is raised although IPython has displayed it already: it is not displayed again.

    Until end(), errors of its type have a handler of this object. All other errors, and those of
    its type, are displayed as before.
    """

    def __init__(self, shell: InteractiveShell, error: BaseException) -> None:
        self._error = error
        self._trace = error.__traceback__
        self._former = shell.custom_exceptions, shell.CustomTB
        shell.set_custom_exc((type(error), *shell.custom_exceptions), self._handle)

    def end(self, shell: InteractiveShell) -> None:
        shell.custom_exceptions, shell.CustomTB = self._former

    def _handle(
        self,
        shell: InteractiveShell,
        kind: type,
        value: BaseException,
        trace: TracebackType,
        tb_offset: int | None = None,
    ) -> None:
        self.end(shell)
        if value is self._error:
            value.__traceback__ = self._trace  # without the frames of the magic
        elif issubclass(kind, shell.custom_exceptions):
            shell.CustomTB(kind, value, trace, tb_offset)
        else:
            shell.showtraceback(
                (kind, value, trace), tb_offset=tb_offset, running_compiled_code=True
            )


class Notebook:
    """The extension of one kernel."""

    def __init__(self) -> None:
        self._cells = Cells()
        self._running: list[_Running] = []  # more than one if a magic of a cell runs a cell
        self._displayed: _Displayed | None = None  # until the cell ends
        self._folder: str | None = None
        self._observation: Observation | None = None

    @property
    def _shell(self) -> InteractiveShell:
        # The shell is not stored in this object. Otherwise the census (a reference scan) would
        # report this object as a holder of the shell's names.
        from IPython.core.getipython import get_ipython

        return get_ipython()

    def begin(self) -> None:
        """Begins the observation. Raises ObserveError with the reason if it is not possible."""
        kind = _out_of_memory()
        if not library.is_preloaded():
            self._folder = tempfile.mkdtemp(prefix="vramstow-notebook-")
            try:
                self._observation = observe(self._folder)
            except BaseException:
                shutil.rmtree(self._folder, ignore_errors=True)
                raise
        for number, text in enumerate(self._shell.history_manager.input_hist_raw):  # so far
            self._note_file(number, text, number)
        self._shell.events.register("pre_run_cell", self.before_cell)
        self._shell.events.register("post_run_cell", self.after_cell)
        self._shell.set_custom_exc((kind,), self.on_out_of_memory)

    def end(self) -> None:
        self._shell.events.unregister("pre_run_cell", self.before_cell)
        self._shell.events.unregister("post_run_cell", self.after_cell)
        self._shell.set_custom_exc((), None)
        if self._observation is not None:
            self._observation.end()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def before_cell(self, info: ExecutionInfo) -> None:
        if info.store_history:  # no cell is running, so what is left was cancelled
            self._running.clear()
        self._running.append(_Running(info, self._objects()))
        # A cell is added to In after this. If a magic of a cell runs another one, that one belongs
        # to the former, but IPython compiles it with the number of its prompt.
        number = self._number()
        if info.store_history:
            self._note_file(number + 1, info.raw_cell, number + 1)
        else:
            self._note_file(number, info.raw_cell, self._shell.execution_count)

    def after_cell(self, result: ExecutionResult | None) -> None:
        if self._displayed is not None:
            self._displayed.end(self._shell)
            self._displayed = None
        if result is None:  # the cell was cancelled
            return
        now = self._objects()
        number = self._number()
        self._cells.note(number, self._names_bound(result, now))
        self._cells.keep(now)
        if result.error_in_exec is not None:
            self._cells.failed = number

    def _number(self) -> int:
        """Returns the number of the running cell. IPython 8 and 9 increment their own at different
        times.
        """
        return len(self._shell.user_ns.get("In", [""])) - 1

    def _objects(self) -> dict[str, int]:
        """Returns the identity of each object to which a name of the user refers. Names of IPython
        (Out, _5) and of modules are left out.
        """
        of_ipython = self._shell.user_ns_hidden
        return {
            name: id(value)
            for name, value in list(self._shell.user_ns.items())
            # isinstance() would execute code of the object, such as that of a weak reference.
            if of_ipython.get(name) is not value and not issubclass(type(value), ModuleType)
        }

    def _names_bound(self, result: ExecutionResult, now: dict[str, int]) -> set[str]:
        """Returns the names that the cell bound: those that refer to another object than before,
        and, unless the cell failed on its way, all that its text binds.
        """
        names: set[str] = set()
        for i, cell in enumerate(self._running):
            if cell.info is result.info:
                names = {name for name, at in now.items() if cell.objects.get(name) != at}
                del self._running[i:]
                break
        return (
            names | names_made(self._transformed(result.info.raw_cell)) if result.success else names
        )

    def _transformed(self, text: str) -> str:
        """Returns the cell as Python: without lines that begin with % or !."""
        try:
            return self._shell.transform_cell(text)
        except Exception:
            return text

    def _note_file(self, number: int, text: str, prompt: int) -> None:
        """Notes the file name of a cell's code. IPython makes it of the transformed text and the
        number of the prompt, Jupyter of the text itself.
        """
        name_of = getattr(self._shell.compile, "get_code_name", None)
        if name_of is not None:
            self._cells.note_file(number, name_of(text, self._transformed(text), prompt))

    def on_out_of_memory(
        self,
        shell: InteractiveShell,
        kind: type,
        value: BaseException,
        trace: TracebackType,
        tb_offset: int | None = None,
    ) -> None:
        shell.showtraceback((kind, value, trace), tb_offset=tb_offset)
        try:
            print(self._cells.with_cells(explain()))
        except ObserveError as error:
            print(f"vramstow: {error}")

    def _told(self, holder: str) -> str:
        """Returns the owner as text. A result that is also in `_` is named by its number."""
        name = self._cells.history_name(holder)
        if name is not None and set(name) == {"_"}:
            value = self._shell.user_ns.get(name)
            results = self._shell.user_ns.get("Out") or {}
            for number, result in results.items():
                if result is value:
                    return f"Out[{number}]"
        return self._cells.told(holder)

    def _rows(self, taken: Census, only: Callable[[str], bool] | None = None) -> tuple[Row, ...]:
        return tuple(
            Row(held.bytes, held.blocks, f"{self._told(held.holder)}  ({held.about})")
            for held in taken.holders
            if only is None or only(held.holder)
        )

    def held(self) -> Page | None:
        taken = _census_or_say()
        if taken is None:
            return None
        heading = f"{size_text(taken.live_bytes)} in tensors"
        return Page(heading, (("held by", self._rows(taken)),))

    def free(self, now: bool) -> Page | None:
        taken = _census_or_say()
        if taken is None:
            return None
        rows = self._rows(taken, lambda holder: self._cells.history_name(holder) is not None)
        size = sum(row.size for row in rows)
        nothing = "The notebook's history references no GPU memory"
        if now:
            cached = _reserved()
            if rows:
                self._forget()
            _collect()
            after = _allocated()
            freed = taken.live_bytes - after if after is not None else size
            told = f"{size_text(freed)} are free again"
            returned = cached - _reserved()
            if returned > 0:
                told += f", and PyTorch returned {size_text(returned)} to the GPU"
            return Page(told, (("forgotten", rows),)) if rows else Page(f"{nothing}; {told}")
        if not rows:
            return Page(nothing)
        heading = f"{size_text(size)} only because of history; %vramstow free now forgets it"
        return Page(heading, (("held by", rows),))

    def _forget(self) -> None:
        """Deletes results and the last error from the history, but no names of the user."""
        history = self._shell.user_ns.get("Out")
        if isinstance(history, dict):
            history.clear()
        for names in (self._shell.user_ns, self._shell.user_ns_hidden):
            for name in list(names):
                if names is self._shell.user_ns and self._cells.cell_of(name) is not None:
                    continue
                if re.fullmatch(r"_\d+", name):
                    del names[name]
                elif name in ("_", "__", "___"):
                    names[name] = ""
        hook = self._shell.displayhook
        hook._ = hook.__ = hook.___ = ""
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            if hasattr(sys, name):
                delattr(sys, name)
        self._shell.InteractiveTB.tb = None
        last = self._shell.last_execution_result  # that of the cell before this one
        if last is not None:
            last.result = last.error_in_exec = last.error_before_exec = None

    def run_cell(self, text: str) -> Page | None:
        """Runs the cell, and returns a page about its use of GPU memory. If the cell fails, shows
        the page, and raises the cell's error, which IPython has displayed already.
        """
        if self._needs_running_loop(text):
            from IPython.core.error import UsageError

            raise UsageError(
                "%%vramstow cannot run a cell with await in Jupyter: write the cell without this "
                "line, and its body below `with vramstow.track('cell') as tracked:`."
            )
        number = self._number()
        with track(f"cell {number}") as tracked, Watch() as watch:
            result = self._shell.run_cell(text)
        page = self._page(number, tracked, watch)
        if result.success:
            return page
        if page is not None:
            from IPython.display import display

            display(page)
        error = result.error_before_exec
        if error is None:
            error = result.error_in_exec
        self._displayed = _Displayed(self._shell, error)
        try:
            raise error
        finally:
            del error, result  # the error references this frame

    def _needs_running_loop(self, text: str) -> bool:
        """Whether the cell awaits something and the kernel's event loop is running. A magic cannot
        wait for that loop, unless nest_asyncio has made it possible.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if hasattr(loop, "_nest_patched"):
            return False
        python = self._transformed(text)
        return self._shell.should_run_async(text, transformed_cell=python)

    def _page(self, number: int, tracked: track, watch: Watch) -> Page | None:
        """Returns the page of a cell that has ended. Without figures, says why there are none."""
        # If there were no figures before the cell, the figures after it are compared with zero.
        if tracked.after is None:
            print(f"vramstow: {library.why_not() or 'there are no numbers'}.")
            return None
        heading = (
            f"cell {number}: {size_text(tracked.allocated_bytes)} more than before, "
            f"{size_text(tracked.added_peak_bytes)} more at its peak, "
            f"{tracked.allocations} allocations"
        )
        taken = census()
        if taken is None:
            return Page(heading, timeline=watch.timeline())

        def is_made_here(holder: str) -> bool:
            found = _NAME.match(holder)
            return found is not None and self._cells.cell_of(found[1]) == number

        rows = self._rows(taken, is_made_here)
        tables = (("held by names of this cell", rows),) if rows else ()
        return Page(heading, tables, watch.timeline())


def _out_of_memory() -> type[BaseException]:
    """Returns the type of PyTorch's error. Raises ObserveError if PyTorch cannot be imported."""
    try:
        import torch
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "torch":
            raise ObserveError("this Python has no PyTorch.") from None
        raise ObserveError(f"PyTorch cannot be imported: {error}.") from error
    return torch.OutOfMemoryError if hasattr(torch, "OutOfMemoryError") else MemoryError


def _allocated() -> int | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return sum(torch.cuda.memory_allocated(i) for i in range(torch.cuda.device_count()))


def _reserved() -> int:
    """Returns the bytes that PyTorch has from the GPU, in use or in its cache."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    return sum(torch.cuda.memory_reserved(i) for i in range(torch.cuda.device_count()))


def _collect() -> None:
    """Collects garbage, and empties PyTorch's cache."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.cuda.empty_cache()


def _census_or_say() -> Census | None:
    taken = census()
    if taken is None:
        print("vramstow: no census for this version of Python or PyTorch (docs/census.md).")
    return taken


_notebook: Notebook | None = None


def load(shell: InteractiveShell) -> None:
    """Handles %load_ext vramstow: begins the observation and adds the magics."""
    global _notebook
    if _notebook is not None:
        return
    begun = Notebook()
    try:
        begun.begin()
    except ObserveError as error:
        print(f"vramstow: {error}")
        return
    _notebook = begun

    def line_or_cell(line: str, cell: str | None = None) -> Page | None:
        words = line.split()
        if _notebook is None:
            print("vramstow: the extension is not loaded any more; %load_ext vramstow loads it.")
            return None
        notebook = _notebook
        if cell is not None:
            return notebook.run_cell(cell)
        if words == ["held"]:
            return notebook.held()
        if words in (["free"], ["free", "now"]):
            return notebook.free(now=len(words) == 2)
        print(_HELP)
        return None

    shell.register_magic_function(line_or_cell, "line_cell", "vramstow")


def unload() -> None:
    """Handles %unload_ext vramstow: ends the observation and removes its trace."""
    global _notebook
    if _notebook is not None:
        _notebook.end()
        _notebook = None
