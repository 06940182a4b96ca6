"""Pickles of which it is known what they hold, made of bytes that anybody may have written; runs in clean machines.

Plain data is made anew from ``encode``'s bytes. What those cannot hold, such as a model, is unpickled with classes that
hold data alone: scikit-learn's, and the results and sparse arrays of scipy. No function is ever called from a pickle
but those that numpy's and these classes' own pickles name.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from deskgym.task_suites.table_analysis.guest.comparators.decode import decode_value
from deskgym.task_suites.table_analysis.guest.results.value_format import Opaque

_NUMPY = ("numpy._core", "numpy.core")  # numpy 2 and 1
_PLAIN: Mapping[str, tuple[str, ...]] = {
    "numpy": ("ndarray", "dtype", "poly1d"),
    **{f"{core}.multiarray": ("_reconstruct", "scalar") for core in _NUMPY},
    **{f"{core}.numeric": ("_frombuffer",) for core in _NUMPY},
    "numpy.ma.core": ("_mareconstruct", "MaskedArray", "MaskedConstant"),
    "numpy.ma": ("MaskedArray",),
    "numpy.random._pickle": ("__randomstate_ctor", "__generator_ctor", "__bit_generator_ctor"),
    "numpy.random.bit_generator": ("__pyx_unpickle_SeedSequence", "SeedSequence"),
    "builtins": (
        "object", "slice", "set", "frozenset", "complex", "bytearray", "range", "int", "float", "str", "bool", "dict",
    ),
    "copyreg": ("_reconstructor",),
    "collections": ("OrderedDict", "defaultdict", "Counter"),
    "datetime": ("datetime", "date", "time", "timedelta"),
}  # fmt: skip

_SERIES = ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre")


class CarriedUnpickler(pickle.Unpickler):
    """Loads models and results of numerical libraries, and nothing else.

    Raises:
        pickle.UnpicklingError: from ``load``: the pickle names something else; says what.
    """

    def find_class(self, module: str, name: str) -> Any:
        """What a pickle may name."""
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        root = module.split(".")[0]
        found = super().find_class(module, name) if root in ("numpy", "scipy", "sklearn") else None
        home = str(getattr(found, "__module__", type(found).__module__)).split(".")[0]  # numpy 1's ufuncs have none
        if home == root and _is_data(found, root, name):
            return found
        raise pickle.UnpicklingError(f"{module}.{name} is not carried over")


def _is_data(found: Any, root: str, name: str) -> bool:
    """Whether something that a pickle names is a class without code of the pickle's, or what makes one."""
    if root == "sklearn":
        makes = name.startswith("__pyx_unpickle") or name == "newObj"
        return isinstance(found, type) or makes or getattr(import_module("sklearn.metrics"), name, None) is found
    import numpy as np

    if not isinstance(found, type):
        return isinstance(found, np.ufunc)
    if root == "numpy":
        return issubclass(found, (np.generic, np.dtype, np.random.BitGenerator)) or name in _SERIES
    sparse = import_module("scipy.sparse")
    arrays = getattr(sparse, "sparray", sparse.spmatrix)  # scipy before 1.11 derives them from its matrices
    return issubclass(found, (tuple, dict, arrays, sparse.spmatrix))


def _restored(opaque: Opaque) -> Any:
    if not opaque.pickled:
        raise ValueError(f"a {opaque.kind} is not carried over")
    try:
        return CarriedUnpickler(io.BytesIO(opaque.pickled)).load()
    except Exception as error:
        raise ValueError(f"a {opaque.kind} is not carried over: {error}") from None


def carried(encoded: bytes) -> bytes:
    """A pickle of the value that ``encode(value, models=True)`` made the bytes of.

    Raises:
        ValueError: they hold what cannot be carried over; the message names its type.
    """
    return pickle.dumps(decode_value(encoded, _restored))


def carry(files: Mapping[str, str]) -> None:
    """Make a pickle of each encoded value, and print what cannot be carried over.

    Args:
        files: paths of the encoded values, and of the pickles.
    """
    for source, target in files.items():
        with open(source, "rb") as file:
            encoded = file.read()
        try:
            data = carried(encoded)
        except Exception as error:
            print(f"{target}: {error}"[:300])
            continue
        with open(target, "wb") as file:
            file.write(data)
