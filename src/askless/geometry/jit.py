"""How the kernels are compiled: once, cached on disk, without the GIL.

The cache stands beside the package, or in the user's cache folder where that is not writable. numba looks only at the
file of the function it compiles, not at those of the functions that one calls, so the cache folder is named after a
digest of all kernel sources, those of the policies included: after an upgrade nothing stale is ever run.

Sums may be reordered (that is what makes a dot product fast), but NaN and infinity keep their meaning.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
import numba.core.cgutils
import numba.core.datamodel
import numba.core.event
from numba.extending import intrinsic

config: Any = numba.config  # these six have no published types
carray: Any = numba.carray  # type: ignore[attr-defined]
events: Any = numba.core.event
types: Any = numba.types
cgutils: Any = numba.core.cgutils
models: Any = numba.core.datamodel

_FAST = {"reassoc", "contract", "nsz"}
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": _FAST}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that Python calls, on first use; cache it on disk, and run it without the GIL."""
    before = config.CACHE_DIR
    config.CACHE_DIR = cache_folder()  # read when the decorator is applied, so other users of numba keep theirs
    try:
        compiled: Callable[..., Any] = numba.njit(cache=True, **_OPTIONS)(function)
    finally:
        config.CACHE_DIR = before
    return compiled


def part(
    function: Callable[..., Any] | None = None, *, allocates: bool = False, nan: bool = True
) -> Callable[..., Any]:
    """Compile a function that only kernels call: it becomes part of them, with no way in from Python.

    Numba counts who refers to an array at each call of a function that is given one, which took a tenth of a search in
    few dimensions. A part does not count. So it may neither make an array, nor return one, nor call what returns one,
    unless it `allocates`: numba refuses the first, and `_refuse_arrays_of_its_own` the others. With nan=False no NaN
    occurs in it: its maxima then run in vector registers.
    """
    if function is None:
        return partial(part, allocates=allocates, nan=nan)
    options = _OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": allocates}
    compiled: Any = numba.njit(**options | {"fastmath": _FAST if nan else _FAST | {"nnan"}})(function)
    if not config.DISABLE_JIT:
        template = compiled.get_call_template

        def one_template(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            found = template(tuple(map(_widened, args)), {name: _widened(kind) for name, kind in kws.items()})
            if not allocates:
                _refuse_arrays_of_its_own(function, compiled)
            return found

        compiled.get_call_template = one_template
    result: Callable[..., Any] = compiled
    return result


def _refuse_arrays_of_its_own(function: Callable[..., Any], compiled: Any) -> None:
    """A part that does not count references would free an array that it returns too early, and one that it gets never.

    So it may be given none by a call, and may hand none to a function of a library, which may have been compiled so
    that it makes one. A view that the part makes itself (`x[:n]`) has no count of its own, and is none of these.
    """
    for found in compiled.overloads.values():
        note, kinds = found.type_annotation, [found.signature.return_type]
        for made, kind in note.calltypes.items():
            if kind is not None and getattr(made, "op", "") == "call":
                callee = note.typemap[made.func.name]
                own = isinstance(callee, types.Dispatcher) or getattr(callee, "typing_key", None) is len
                kinds += [kind.return_type] if own else [kind.return_type, *kind.args]
        if any(models.default_manager[kind].contains_nrt_meminfo() for kind in kinds):
            raise TypeError(
                f"{function.__name__} returns an array, calls what returns one, or hands one to a library: "
                "part(allocates=True)."
            )


def _widened(kind: Any) -> Any:
    """int64 for every integer, and no constant as a type of its own, or each part would be compiled again for each."""
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) else kind


def _borrow(typing_context: Any, held: Any) -> Any:
    """The arrays of a tuple without their reference counts; the caller keeps what it borrows from (see `hold`).

    A function that takes thirty arrays otherwise counts each of them up and down, atomically, on every call.
    """

    def uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
        if isinstance(kind, types.Array):
            array = context.make_array(kind)(context, builder, value)
            array.meminfo = cgutils.get_null_value(array.meminfo.type)
            array.parent = cgutils.get_null_value(array.parent.type)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):
            entries = zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)
            return context.make_tuple(builder, kind, [uncounted(context, builder, *entry) for entry in entries])
        return value

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return uncounted(context, builder, signature.args[0], args[0])

    return held(held), codegen


borrow: Any = intrinsic(_borrow) if not config.DISABLE_JIT else lambda held: held


def _pointer(typing_context: Any, address: Any) -> Any:
    """Where an array's numbers lie, for `carray`."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), codegen


pointer: Any = intrinsic(_pointer) if not config.DISABLE_JIT else lambda address: ctypes.c_void_p(int(address))


@part
def hold(held: Any) -> None:
    """Nothing, with arrays that must live until here."""


@cache
def cache_folder() -> str:
    """Where compiled kernels are kept: one folder for each state of the sources."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted([*here.glob("*.py"), *here.parent.glob("policies/*_kernels.py")]):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    beside = here / "__pycache__"
    if chosen:
        base = Path(chosen)
    elif os.access(beside if beside.exists() else here, os.W_OK):
        base = beside
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "askless"
    return str(base / name)


@contextmanager
def told_of_compiling() -> Iterator[None]:
    """Say on stderr, once a process, that kernels are being compiled; where they are loaded from the cache, nothing."""
    with events.install_listener("numba:compile", _teller()):
        yield


@cache
def _teller() -> _Teller:
    return _Teller()


class _Teller(events.Listener):  # type: ignore[misc]  # numba publishes no types
    """Hears of every compilation."""

    def __init__(self) -> None:
        self._told = False

    def on_start(self, event: Any) -> None:
        """Tell of the first one."""
        if not self._told:
            self._told = True
            told = "askless: compiling the geometry kernels, about a minute (once: the result is cached) ...\n"
            sys.stderr.write(told)

    def on_end(self, event: Any) -> None:
        """Nothing to tell."""
