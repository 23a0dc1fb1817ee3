# SPDX-License-Identifier: Apache-2.0
"""Differences of neighbours along an axis: of order n, slopes, and integrals. Collective.

A rank reads what lies beside its own elements. An array that is cyclic along the axis goes into blocks for
slopes, and its result back.
"""

from __future__ import annotations

import operator
from typing import Any, Sequence, Union

from nearfetch.dense import (
    BLOCK,
    ArrayLayout,
    Dense,
    checked_operand,
    collective,
    new_array,
    redistributed,
    shape_of,
)
from nearfetch.errors import Error
from nearfetch.mapped import read_mapped
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements, refuse
from nearfetch.rearranging import made_from, own_places, read_product
from nearfetch.reductions import Over, axes_of, reduced

__all__: list[str] = []


@implements(np.diff)
def _diff(a: Dense, n: int = 1, axis: int = -1) -> Dense:
    (along,) = axes_of(a, axis)
    for _ in range(operator.index(n)):
        a = _difference(a, along)
    return a


def _difference(array: Dense, axis: int) -> Dense:
    first, end = array.bounds[axis]
    layout = array._layout.with_bounds(axis, (first, max(first, end - 1)))
    subtract = np.not_equal if array.dtype == bool else np.subtract

    def read(made: Dense) -> np.ndarray:
        wanted = list(made.local_indices)
        lower = read_product(array, wanted)
        wanted[axis] = wanted[axis] + 1
        return subtract(read_product(array, wanted), lower)

    dtype = subtract(np.empty(0, array.dtype), np.empty(0, array.dtype)).dtype
    return made_from("diff", array, layout, read, axis, dtype=dtype)


# Slopes.

Spacing = Union[np.generic, np.ndarray]
"""The distance of neighbours, or the coordinates of all indices of an axis."""


@implements(np.gradient)
def _gradient(f: Dense, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    axes = [axes_of(f, int(one))[0] for one in np.atleast_1d(range(f.ndim) if axis is None else axis)]
    if edge_order not in (1, 2) or any(f.shape[along] <= edge_order for along in axes):
        raise Error(
            f"gradient of shape {f.shape} with edge_order={edge_order} (that is 1 or 2, and an axis has more "
            "indices): use such"
        )
    spacings, source = _spacings(f, axes, varargs), f
    if f._distribution != BLOCK and any(f.grid[along] > 1 for along in axes):
        with collective("gradient", f._layout, str(f.dtype)):
            source = redistributed(f, f._layout.as_blocks())
    made = tuple(_slopes(source, f._layout, *both, edge_order) for both in zip(axes, spacings))
    return made[0] if len(made) == 1 else made


def _spacings(array: Dense, axes: Sequence[int], given: Sequence[Any]) -> list[Spacing]:
    if any(isinstance(one, Dense) for one in (array, *given)[1:]) or not isinstance(array, Dense):
        refuse("numpy.gradient with coordinates")
    spacings: list[Spacing] = [np.asarray(one)[()] for one in (given or [1.0])]
    if len(spacings) == 1 and spacings[0].ndim == 0:
        spacings *= len(axes)
    if len(spacings) != len(axes) or any(
        one.ndim > 1 or (one.ndim == 1 and one.size != array.shape[along])
        for along, one in zip(axes, spacings)
    ):
        raise Error(
            f"gradient along {len(axes)} axes with distances of the shapes {[one.shape for one in spacings]} "
            "(an axis has one, or a coordinate for each index): give one for all, or as many as axes"
        )
    return spacings


def _slopes(array: Dense, layout: ArrayLayout, axis: int, spacing: Spacing, order: int) -> Dense:
    """`numpy.gradient` of own elements and their neighbours, in this layout. Own indices have no gaps."""
    some = spacing if spacing.ndim == 0 else np.arange(order + 1).astype(spacing.dtype)
    dtype = np.gradient(np.zeros(order + 1, array.dtype), some, edge_order=order).dtype
    said = (spacing.shape, spacing.tolist() if spacing.ndim == 0 else None)
    with collective("gradient", array._layout, str(array.dtype), str(dtype), axis, order, said):
        made = new_array(array._layout, dtype)
        _native.barrier()
        if made.local.size:
            extent, own = array.shape[axis], own_places(made)[axis]
            first, end = int(own[0]), int(own[-1]) + 1
            # One beside own ones; numpy asks for as many as a slope at an end needs.
            lower = max(0, min(first - 1, extent - 1 - order))
            upper = min(extent, max(end + 1, 1 + order))
            window = array.local
            if upper - lower > end - first:
                wanted = list(made.local_indices)
                wanted[axis] = np.arange(lower, upper) + array.bounds[axis][0]
                window = read_product(array, wanted)
            near = spacing if spacing.ndim == 0 else spacing[lower:upper]
            slopes = np.gradient(window, near, axis=axis, edge_order=order)
            made.local[...] = slopes[(slice(None),) * axis + (slice(first - lower, end - lower),)]
        _native.barrier()
        return redistributed(made, layout)


# Integrals.


def _trapezoid(y: Dense, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The sum of elements that are weighted by half the distance of their neighbours."""
    if not isinstance(y, Dense):
        refuse("numpy.trapezoid with x=")
    (along,) = axes_of(y, axis)
    x = checked_operand("trapezoid", x)
    x = x if x is None or isinstance(x, Dense) else np.asarray(x)
    if x is not None and shape_of(x) not in ((y.shape[along],), y.shape):
        raise Error(
            f"trapezoid with x= of shape {shape_of(x)} (the array has {y.shape}, with {y.shape[along]} "
            "indices on the axis): give a coordinate for each of these, or for each element"
        )
    # numpy says of which dtype the result is.
    two = np.zeros(2, y.dtype)
    kind = _ORIGINAL(two, dx=dx) if x is None else _ORIGINAL(two, np.arange(2).astype(x.dtype))

    def weighted(own: np.ndarray) -> np.ndarray:
        places, last = own_places(y), y.shape[along] - 1
        beside = [np.minimum(places[along] + 1, last), np.maximum(places[along] - 1, 0)]
        upper, lower = (_coordinates(x, dx, places, along, one) for one in beside)
        weights = (upper - lower) / 2
        if weights.ndim == 1:
            weights = weights.reshape([-1 if at == along else 1 for at in range(y.ndim)])
        return np.multiply(own, weights).astype(kind.dtype)

    if isinstance(x, Dense):
        # From here on what all have written to x is read.
        with collective("trapezoid", y._layout, x._layout, str(x.dtype)):
            _native.barrier()
    return reduced("trapezoid", np.add, y, Over(axis=along, dtype=kind.dtype), prepare=weighted)


def _coordinates(x: Any, dx: Any, places: Sequence[np.ndarray], along: int, at: np.ndarray) -> np.ndarray:
    """Of own elements, or of others than these along an axis."""
    if x is None:
        return at * dx
    return read_mapped(x, [at] if len(x.shape) == 1 else [*places[:along], at, *places[along + 1 :]])


_ORIGINAL = np.trapezoid if hasattr(np, "trapezoid") else np.trapz
for _name in ("trapezoid", "trapz"):
    if hasattr(np, _name):
        implements(getattr(np, _name))(_trapezoid)
