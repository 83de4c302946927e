"""A policy in one file: saved whole or not at all, and loaded without running anything that the file names.

The file is an ordinary numpy archive (`numpy.load(path, allow_pickle=False)` opens it under any name): the
arrays of `policy.state()` and, under the name `askless-policy`, a JSON header as bytes with everything else.
It ends in a seal, the SHA-256 of all that comes before, kept where a zip archive has its comment.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeAlias, TypeVar, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askless.errors import AsklessError, InvalidInput, UnreadableFile, UnwritableFile
from askless.types import Policy

FORMAT = "askless-policy"
FORMAT_VERSION = 1

_SEAL = b"askless-policy sha256 "
_DIGEST_SIZE = 64
_ARRAY = "$array"

Arrays: TypeAlias = dict[str, NDArray[Any]]


@runtime_checkable
class Storable(Protocol):
    """What a policy must offer to be saved: `type(policy)(**params())` and `restore(state())` rebuild it."""

    def params(self) -> dict[str, Any]:
        """The arguments that make a policy like this one."""
        ...

    def state(self) -> dict[str, Any]:
        """Everything learned: numpy arrays, and what JSON can hold."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what `state` gave; called on a policy that has learned nothing."""
        ...


StorableT = TypeVar("StorableT", bound=Storable)


def save(policy: Policy | Storable, path: str | os.PathLike[str]) -> None:
    """Write the policy to `path`, under exactly that name.

    The bytes go to a temporary file in the same folder, reach the disk, and only then take the place of the
    old file. So a save that fails, or a machine that stops, leaves the old file as it was. The same state
    gives the same bytes.
    """
    if not isinstance(policy, Storable):
        raise InvalidInput(
            f"This {type(policy).__name__} cannot be saved; give it params(), state() and restore(state), "
            "as askless.persist.Storable describes them."
        )
    header, arrays = _header_and_arrays(policy)
    # Through a link, the file that it points to is replaced, and the link stays.
    target = Path(os.path.realpath(path))
    temporary = target.parent / f".askless-{secrets.token_hex(8)}.tmp"
    try:
        _replace(target, temporary, header, arrays)
    except OSError as error:
        raise UnwritableFile(
            f"The policy was not saved to {os.fspath(path)}: {error.strerror or error}. "
            "A file that was there before is as it was; mend the cause and save again."
        ) from error
    finally:
        with contextlib.suppress(OSError):  # gone already, or never made
            temporary.unlink()
    try:
        _sync_folder(target.parent)
    except OSError as error:
        raise UnwritableFile(
            f"The policy is in {os.fspath(path)}, but may not outlast a power cut: {error.strerror or error}."
        ) from error


@overload
def load(path: str | os.PathLike[str], kind: None = None) -> Policy: ...


@overload
def load(path: str | os.PathLike[str], kind: type[StorableT]) -> StorableT: ...


def load(path: str | os.PathLike[str], kind: type[Storable] | None = None) -> Any:
    """The policy that `save` wrote to `path`: it decides as the saved one did.

    askless's own policies are found by name. For a class of your own, pass it as `kind`: no module is ever
    imported because a file names it. A truncated, damaged or foreign file is refused, and a newer format too.
    """
    if kind is not None and not (isinstance(kind, type) and issubclass(kind, Storable)):
        raise InvalidInput(
            f"kind is the class of the saved policy, with params(), state() and restore(state); found {kind!r}. "
            "Leave it out for a policy of askless's own."
        )
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            _check_seal(file, name)
            header, arrays = _read(file)
    except OSError as error:
        raise UnreadableFile(f"Cannot read {name}: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise UnreadableFile(_foreign(name)) from error
    _check_header(header, name)
    made_by = _own_class(header, name) if kind is None else _same_class(kind, header, name)
    try:
        policy = made_by(**_decode(header["params"], arrays))
        policy.restore(_decode(header["state"], arrays))
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise UnreadableFile(
            f"{name} holds a {header['class']} saved by askless {header['askless']}, and this version cannot "
            f"rebuild it ({error}). Load it with that version."
        ) from error
    return policy


# -- the header ---------------------------------------------------------------------------------------------


def _header_and_arrays(policy: Storable) -> tuple[bytes, Arrays]:
    """The JSON header, and the arrays that it refers to by name."""
    from importlib.metadata import version

    kind, params, state = type(policy), policy.params(), policy.state()
    arrays: Arrays = {}
    try:
        header = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "askless": version("askless"),
            "class": kind.__name__,
            "module": kind.__module__,
            "params": _encode(params, "", arrays),
            "state": _encode(state, "", arrays),
        }
        return json.dumps(header).encode(), arrays
    except AsklessError:
        raise
    except (ValueError, RecursionError) as error:  # an integer of thousands of digits, a list inside itself
        raise InvalidInput(f"This {kind.__name__} cannot be saved ({error}).") from error


def _encode(value: Any, name: str, arrays: Arrays) -> Any:
    """The value as JSON can hold it and give it back; an array goes to `arrays` and leaves its name."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        key = re.sub(r"[^\w.-]", "_", name) or "array"
        while key in arrays or key == FORMAT:
            key += "_"
        arrays[key] = value
        return {_ARRAY: key}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_encode(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]
    if isinstance(value, dict):
        # JSON would turn an integer key into a string, and give back another state than it was given.
        odd = [key for key in value if not isinstance(key, str) or key == _ARRAY]
        if not odd:
            return {k: _encode(v, f"{name}.{k}" if name else k, arrays) for k, v in value.items()}
        raise InvalidInput(
            f"A saved state has strings for its keys, other than {_ARRAY!r}; found {odd[0]!r} in {name!r}."
        )
    found = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise InvalidInput(
        f"A saved state holds arrays of numbers or strings and what JSON can hold; found {found} in {name!r}."
    )


def _decode(value: Any, arrays: Arrays) -> Any:
    """What `_encode` was given."""
    if isinstance(value, list):
        return [_decode(item, arrays) for item in value]
    if isinstance(value, dict):
        if _ARRAY in value:
            return arrays[value[_ARRAY]]
        return {key: _decode(item, arrays) for key, item in value.items()}
    return value


def _check_header(header: Any, path: str) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT or not isinstance(header.get("version"), int):
        raise UnreadableFile(_foreign(path))
    if header["version"] > FORMAT_VERSION:
        raise UnreadableFile(
            f"{path} was written by askless {header.get('askless')} in format {header['version']}; this one "
            f"reads formats up to {FORMAT_VERSION}. Upgrade askless to load it."
        )
    missing = {"askless", "class", "module", "params", "state"} - header.keys()
    if missing:
        raise UnreadableFile(f"{path} has no {sorted(missing)[0]!r} in its header, so no policy can be built from it.")


# -- the class ----------------------------------------------------------------------------------------------


def _own_class(header: dict[str, Any], path: str) -> type[Storable]:
    """The policy class of askless's own that the header names."""
    from askless.policies.named import policy_class

    name = header["class"]
    found: type | None
    try:
        found = policy_class(str(name))  # which imports nothing from outside askless, whatever the name
    except InvalidInput:
        found = None
    if found is None or not issubclass(found, Storable) or found.__module__ != header["module"]:
        raise UnreadableFile(
            f"{path} holds a {name} of the module {header['module']}, which is no policy of askless's own. "
            f"Pass the class: load(path, kind={name})."
        )
    return found


def _same_class(kind: type[Storable], header: dict[str, Any], path: str) -> type[Storable]:
    if kind.__name__ != header["class"]:
        raise UnreadableFile(f"{path} holds a {header['class']}, and kind is {kind.__name__}; pass the class it holds.")
    return kind


# -- the bytes ----------------------------------------------------------------------------------------------


def _replace(target: Path, temporary: Path, header: bytes, arrays: Arrays) -> None:
    """Write all bytes under the temporary name, and give them the final one once they are on the disk."""
    with open(temporary, "x+b") as file:
        _write(file, header, arrays)
        file.flush()
        os.fsync(file.fileno())
    if target.exists():
        temporary.chmod(target.stat().st_mode & 0o777)
    os.replace(temporary, target)


def _write(file: BinaryIO, header: bytes, arrays: Arrays) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in {FORMAT: np.frombuffer(header, dtype=np.uint8), **arrays}.items():
            member = zipfile.ZipInfo(f"{name}.npy")  # no date: the same state gives the same bytes
            member.external_attr = 0o600 << 16
            with archive.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)
        archive.comment = _SEAL + b"0" * _DIGEST_SIZE
    digest = _digest(file)
    file.seek(-_DIGEST_SIZE, os.SEEK_END)
    file.write(digest)


def _digest(file: BinaryIO) -> bytes:
    """SHA-256, in hexadecimal, of all but the digest at the end."""
    left = file.seek(0, os.SEEK_END) - _DIGEST_SIZE
    file.seek(0)
    found = hashlib.sha256()
    while left > 0 and (block := file.read(min(left, 1 << 20))):
        found.update(block)
        left -= len(block)
    return found.hexdigest().encode()


def _check_seal(file: BinaryIO, path: str) -> None:
    """Refuse a file that does not begin as ours do, or whose bytes are not those that were sealed."""
    start = file.read(30 + len(FORMAT) + 4)
    if not start.startswith(b"PK\x03\x04") or start[30:] != f"{FORMAT}.npy".encode():
        raise UnreadableFile(_foreign(path))
    digest = _digest(file)
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - _DIGEST_SIZE - len(_SEAL)))
    if file.read() != _SEAL + digest:
        raise UnreadableFile(f"{path} is truncated or damaged: its checksum does not match. Load a copy of it.")
    file.seek(0)


def _read(file: BinaryIO) -> tuple[Any, Arrays]:
    with np.load(file, allow_pickle=False) as archive:
        arrays: Arrays = {name: archive[name] for name in archive.files}
    return json.loads(arrays.pop(FORMAT).tobytes()), arrays


def _foreign(path: str) -> str:
    return f"{path} is not a policy that askless saved. Load a file that askless.persist.save wrote."


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can open a folder."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
