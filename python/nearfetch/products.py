# SPDX-License-Identifier: Apache-2.0
"""Products of vectors and matrices, and norms. All are collective.

The product of two matrices is a blocked algorithm: each rank owns a block of the result. It reads the rows
of the one matrix and the columns of the other that the block needs, in panels of bounded size.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Union

from nearfetch.dense import (
    BLOCK,
    ArrayLayout,
    Dense,
    check_operand,
    checked_operand,
    collective,
    first_dense,
    new_array,
    part_of,
    redistributed,
    shape_of,
)
from nearfetch.errors import Error
from nearfetch.native import _native
from nearfetch.numerical import np
from nearfetch.reductions import Over, combined, reduced

__all__ = ["inner", "matmul", "norm", "outer"]

_PANEL_BYTES = 8 << 20

Matrix = Union[Dense, np.ndarray]


def matmul(what: str, a: Any, b: Any) -> Any:
    """The product of vectors (a scalar), of a matrix and a vector, or of matrices.

    One of them is distributed. The result of vectors is a scalar on all ranks; that of matrices has one
    block per rank, unless the first distributed one is cyclic; that of a matrix and a vector is distributed
    as the matrix. Raises Error for other numbers of dimensions, for indices that do not fit, and for a
    numpy matrix with a distributed vector.
    """
    a, b = checked_operand(what, a), checked_operand(what, b)
    dimensions = len(shape_of(a)), len(shape_of(b))
    if not all(count in (1, 2) for count in dimensions):
        raise Error(
            f"{what} of operands of {dimensions[0]} and {dimensions[1]} dimensions (distributed ones are "
            "vectors and matrices): multiply slices, or use np.asarray(a)"
        )
    _check_inner(what, a, b, -1 if dimensions[1] == 1 else -2)
    if dimensions == (1, 1):
        return inner(what, a, b)
    if dimensions == (2, 2):
        return _matrix_product(what, a, b)
    matrix, vector, axis = (a, b, 1) if dimensions[0] == 2 else (b, a, 0)
    if not isinstance(matrix, Dense):
        raise Error(
            f"{what} of a numpy matrix and a distributed vector (each rank would need all of the vector): "
            "make the matrix distributed, or use np.asarray(x)"
        )
    return _matrix_vector(what, matrix, vector, axis)


def inner(what: str, a: Any, b: Any, multiply: Callable[..., Any] = np.dot) -> Any:
    """`multiply` of all elements of two arrays of one shape, as vectors; added up: a scalar."""
    a, b = checked_operand(what, a), checked_operand(what, b)
    if shape_of(a) != shape_of(b):
        raise Error(
            f"{what} of operands of the shapes {shape_of(a)} and {shape_of(b)} (elements are "
            "paired): use arrays of one shape"
        )
    array = first_dense([a, b])
    assert array is not None
    check_operand(array, b)

    def partial(chosen: Any) -> list[np.ndarray]:
        return [np.asarray(multiply(part_of(array, a).reshape(-1), part_of(array, b).reshape(-1)))]

    return combined(what, array, Over(), partial, _added)


def outer(what: str, a: Any, b: Any) -> Dense:
    """The products of all pairs of two vectors' elements: a matrix with one block per rank."""
    a, b = checked_operand(what, a), checked_operand(what, b)
    if len(shape_of(a)) != 1 or len(shape_of(b)) != 1:
        raise Error(
            f"{what} of operands of the shapes {shape_of(a)} and {shape_of(b)} (they are vectors): use such"
        )
    bounds = (_bounds(a, 0), _bounds(b, 0))
    layout = ArrayLayout(BLOCK, bounds, tuple(_native.balanced_grid(2)), ())
    dtype = np.multiply(_no_elements(a), _no_elements(b)).dtype
    with collective(what, layout, str(dtype)):
        made = new_array(layout, dtype)
        rows, columns = made._own_indices(0), made._own_indices(1)
        own = _box(a, bounds[:1], [rows]), _box(b, bounds[1:], [columns])
        np.multiply.outer(*own, out=made.local)
        _native.barrier()
    return made


def norm(what: str, array: Dense, order: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Of all elements as `numpy.linalg.norm`, or of vectors along an axis.

    Raises Error for norms of matrices other than Frobenius's.
    """
    if order == "fro" and (array.ndim == 2 if axis is None else np.size(axis) == 2):
        order = None
    is_vector = array.ndim == 1 if axis is None else np.size(axis) == 1
    if order is not None and not (is_vector and isinstance(order, (int, float))):
        raise Error(
            f"{what} with ord={order!r} (of matrices there is Frobenius's, of vectors that of a number): "
            "leave it out, or use np.asarray(a)"
        )

    def sizes(own: np.ndarray) -> np.ndarray:
        return np.abs(own if own.dtype.kind in "fc" else own.astype(float))

    def found(
        ufunc: np.ufunc, of: Callable[[np.ndarray], Any], finish: Callable[[Any], Any] = lambda total: total
    ) -> Any:
        over = Over(axis=axis, keepdims=keepdims)
        return reduced(what, ufunc, array, over, prepare=lambda own: of(sizes(own)), finish=finish)

    if order is None or order == 2:
        return found(np.add, np.square, np.sqrt)
    if np.isinf(order):
        return found(np.maximum if order > 0 else np.minimum, lambda size: size)
    if order == 0:
        return found(np.add, lambda size: (size != 0).astype(size.dtype))
    return found(np.add, lambda size: size**order, lambda total: total ** (1.0 / order))


def _matrix_vector(what: str, matrix: Dense, vector: Any, axis: int) -> Dense:
    def partial(chosen: Any) -> list[np.ndarray]:
        if isinstance(vector, Dense):
            _native.barrier()
            part = vector._read_product([matrix._own_indices(axis)])
        else:
            part = vector[matrix._own_word(axis)]
        own = matrix.local
        return [np.expand_dims(own @ part if axis == 1 else part @ own, axis)]

    said = (str(vector.dtype), vector._layout if isinstance(vector, Dense) else None)
    return combined(what, matrix, Over(axis=axis), partial, _added, said)


def _matrix_product(what: str, a: Matrix, b: Matrix) -> Dense:
    first = first_dense([a, b])
    assert first is not None
    bounds = (_bounds(a, 0), _bounds(b, 1))
    layout = first._layout._replace(bounds=bounds)
    dtype = np.matmul(np.empty((0, 0), a.dtype), np.empty((0, 0), b.dtype)).dtype
    said = [one._layout if isinstance(one, Dense) else one.shape for one in (a, b)]
    with collective(what, said, str(dtype)):
        product = new_array(layout.as_blocks(), dtype)
        own = product.local
        for left, right in _panels(product, _as_blocks(a), _as_blocks(b)):
            own += left @ right
        _native.barrier()
        return redistributed(product, layout)


def _panels(product: Dense, a: Matrix, b: Matrix) -> Any:
    """Pairs of panels whose products add up to the own block. Ranks begin at different ones."""
    rows, columns = product._own_indices(0), product._own_indices(1)
    if not len(rows) or not len(columns):
        return
    inner_bounds = _bounds(a, 1) if isinstance(a, Dense) else _bounds(b, 0)
    item = max(a.dtype.itemsize, b.dtype.itemsize)
    width = max(1, _PANEL_BYTES // (item * (len(rows) + len(columns))))
    firsts = range(*inner_bounds, width)
    for turn in range(len(firsts)):
        begin = firsts[(turn + _native.rank()) % len(firsts)]
        between = range(begin, min(begin + width, inner_bounds[1]))
        yield (
            _box(a, (product.bounds[0], inner_bounds), [rows, between]),
            _box(b, (inner_bounds, product.bounds[1]), [between, columns]),
        )


def _as_blocks(operand: Matrix) -> Matrix:
    return redistributed(operand, operand._layout.as_blocks()) if isinstance(operand, Dense) else operand


def _box(operand: Matrix, bounds: Sequence[tuple[int, int]], indices: Sequence[range]) -> np.ndarray:
    """The operand's elements at contiguous indices; a numpy array's begin at those of `bounds`."""
    if isinstance(operand, Dense):
        return operand._read_product(indices)
    return operand[tuple(slice(one.start - zero, one.stop - zero) for one, (zero, _) in zip(indices, bounds))]


def _bounds(operand: Matrix, dimension: int) -> tuple[int, int]:
    return operand.bounds[dimension] if isinstance(operand, Dense) else (0, operand.shape[dimension])


def _no_elements(operand: Matrix) -> np.ndarray:
    return np.empty(0, operand.dtype)


def _added(columns: Sequence[np.ndarray], counts: Optional[np.ndarray]) -> np.ndarray:
    return np.add.reduce(columns[0], axis=-1, dtype=columns[0].dtype)


def _check_inner(what: str, a: Any, b: Any, dimension: int) -> None:
    """The indices that are added over are the same."""
    both = isinstance(a, Dense) and isinstance(b, Dense)
    left, right = (_bounds(a, -1), _bounds(b, dimension)) if both else (a.shape[-1], b.shape[dimension])
    if left != right:
        raise Error(
            f"{what} of operands of the shapes {a.shape} and {b.shape} (the indices that are added over "
            f"differ: {left} and {right}): use as many, or transpose one"
        )
