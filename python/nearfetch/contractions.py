# SPDX-License-Identifier: Apache-2.0
"""`numpy.einsum` and `numpy.tensordot`, where they are products and sums that distributed arrays have.

What has indices that neither the other operand nor the result has is summed over them first. What is left
is a product of matrices or vectors, or an element by element product and a sum, one of whose operands has all
indices. All of them are collective, and are named by what they consist of.
"""

from __future__ import annotations

import string
from typing import Any, Sequence

from nearfetch.dense import checked_operand, shape_of
from nearfetch.errors import Error
from nearfetch.numerical import np
from nearfetch.numpy_registry import implements
from nearfetch.products import inner, matmul, outer

__all__: list[str] = []


@implements(np.einsum)
def _einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    if not isinstance(subscripts, str) or "." in subscripts:
        raise Error(
            f"einsum of {subscripts!r} (indices are letters in a text, without an ellipsis): use such, or "
            "np.asarray(a) if it fits"
        )
    terms, output = _parsed(subscripts, operands)
    summed = [
        _summed(one, term, output + "".join(terms[:at] + terms[at + 1 :]))
        for at, (one, term) in enumerate(zip(operands, terms))
    ]
    if len(summed) == 1:
        ((only, term),) = summed
        found = np.copy(only) if only is operands[0] else only
        return _in_order(found, term, output)
    (a, first), (b, second) = summed
    return _product(subscripts, a, first, b, second, output)


def _parsed(subscripts: str, operands: Sequence[Any]) -> tuple[list[str], str]:
    """The indices of the operands and of the result."""
    given, arrow, output = subscripts.replace(" ", "").partition("->")
    terms, letters = given.split(","), given.replace(",", "")
    if not arrow:
        output = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
    shapes = [shape_of(checked_operand("einsum", one)) for one in operands]
    extents: dict[str, set[int]] = {}
    for term, shape in zip(terms, shapes):
        for letter, extent in zip(term, shape):
            extents.setdefault(letter, set()).add(extent)
    fits = len(terms) == len(shapes) and all(len(term) == len(shape) for term, shape in zip(terms, shapes))
    is_known = set(output) <= set(letters) and len(set(output)) == len(output)
    if not fits or not is_known or not letters.isalpha() or any(len(one) > 1 for one in extents.values()):
        raise Error(
            f"einsum of {subscripts!r} with operands of the shapes {shapes} (a letter is one index, with one "
            "extent, of each operand's dimensions): name as many"
        )
    if len(terms) > 2:
        raise Error(f"einsum of {subscripts!r} ({len(terms)} operands): contract two at a time")
    return terms, output


def _summed(operand: Any, term: str, others: str) -> tuple[Any, str]:
    """An operand without the indices that nothing else has, and with each other one once."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            at = term.index(letter)
            behind = term.index(letter, at + 1)
            is_last = letter not in others and term.count(letter) == 2
            if is_last:
                operand = np.trace(operand, 0, at, behind, dtype=operand.dtype)
            else:
                operand = np.diagonal(operand, 0, at, behind)
            term = term[:at] + term[at + 1 : behind] + term[behind + 1 :] + letter * (not is_last)
    axes = tuple(at for at, letter in enumerate(term) if letter not in others)
    if axes:
        operand = np.sum(operand, axis=axes, dtype=operand.dtype)
    return operand, "".join(letter for letter in term if letter in others)


def _product(subscripts: str, a: Any, first: str, b: Any, second: str, output: str) -> Any:
    both = [letter for letter in first if letter in second]
    inside = [letter for letter in both if letter not in output]
    if set(first) == set(second) and not output and first:
        return inner("einsum", a, _in_order(b, second, first))
    if len(inside) == len(both) == 1 and max(len(first), len(second)) <= 2:
        left, right = first.replace(inside[0], ""), second.replace(inside[0], "")
        if output == right + left:
            (a, first, left), (b, second, right) = (b, second, right), (a, first, left)
        a, b = _in_order(a, first, left + inside[0]), _in_order(b, second, inside[0] + right)
        return _in_order(matmul("einsum", a, b), left + right, output)
    if not both and len(first) == len(second) == 1:
        if output == second + first:
            a, first, b, second = b, second, a, first
        return _in_order(outer("einsum", a, b), first + second, output)
    if set(first) < set(second):
        a, first, b, second = b, second, a, first
    if not set(second) <= set(first):
        raise Error(
            f"einsum of {subscripts!r} (it is no product of two matrices, and no operand has all indices): "
            "use reshape and @, or np.asarray(a) if it fits"
        )
    b = _in_order(b, second, "".join(letter for letter in first if letter in second))
    missing = tuple(at for at, letter in enumerate(first) if letter not in second)
    if missing and second:
        b = np.expand_dims(b, missing)
    made = np.multiply(a, b)
    axes = tuple(first.index(letter) for letter in inside)
    if axes:
        made = np.sum(made, axis=axes, dtype=made.dtype)
    return _in_order(made, "".join(letter for letter in first if letter not in inside), output)


def _in_order(operand: Any, term: str, wanted: str) -> Any:
    if term == wanted:
        return operand
    return np.transpose(operand, [term.index(letter) for letter in wanted])


@implements(np.tensordot)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    first, second = (len(shape_of(checked_operand("tensordot", one))) for one in (a, b))
    if np.ndim(axes) == 0:
        axes = range(first - axes, first), range(axes)
    pairs = [np.atleast_1d(one).tolist() for one in axes]
    if (
        len(pairs) != 2
        or len(pairs[0]) != len(pairs[1])
        or not all(-count <= one < count for count, named in zip((first, second), pairs) for one in named)
    ):
        raise Error(f"tensordot with axes={axes!r} (they are paired): name as many of both arrays")
    left, right = string.ascii_lowercase[:first], list(string.ascii_uppercase[:second])
    for one, other in zip(*pairs):
        right[other] = left[one]
    result = [letter for letter in left if letter not in right] + [x for x in right if x not in left]
    return _einsum(f"{left},{''.join(right)}->{''.join(result)}", a, b)
