# SPDX-License-Identifier: Apache-2.0
"""Distributed arrays against numpy: every rank does the same to an array and to its own numpy array.

python array_checks.py [RANKS]      # threads; under mpiexec the ranks of the job
"""

from __future__ import annotations

import numpy as np
from checks import run_checks

import nearfetch
from nearfetch import BlockArray, BlockCyclicArray, CyclicArray, barrier, launch, rank, ranks, statistics

DTYPES = ("?", "i1", "u2", "f4", "f8", "M8[s]", "c16", [("x", "f8"), ("n", "i4"), ("tag", "S4")])
SHAPES = ((1,), (7,), (100,), (1, 9), (5, 4), (3, 1, 4), (2, 3, 2, 3), (0,), (3, 0))


def arrays(shape, dtype):
    """One array of each distribution."""
    yield BlockArray(shape, dtype)
    yield CyclicArray(shape, dtype)
    yield BlockCyclicArray(shape, dtype, block=[2] * len(shape))


def values(shape, dtype, seed=0):
    """Random values of any dtype, without NaN."""
    count = int(np.prod(shape))
    known = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if known.names:
        made = np.zeros(count, known)
        made["x"], made["n"], made["tag"] = random.random(count), random.integers(0, 99, count), b"ab"
        return made.reshape(shape)
    if known.kind == "?":
        return (random.integers(0, 2, count) > 0).reshape(shape)
    return random.integers(0, 100, count).astype(known).reshape(shape)


def random_key(random, shape, full=False):
    """A random key of integers, slices and ellipses; the selection may be empty."""
    words = []
    for extent in shape:
        if extent and random.integers(3) == 0:
            words.append(int(random.integers(-extent, extent)))
        else:
            ends = [
                None if random.integers(3) == 0 else int(random.integers(-extent - 2, extent + 3))
                for _ in "ab"
            ]
            words.append(slice(*ends, random.choice([1, 1, 1, 2, 3, -1, -2])))
    if not full and random.integers(3) == 0:
        at = int(random.integers(0, len(words) + 1))
        words[at : at + int(random.integers(0, 2))] = [Ellipsis]
    return words[0] if len(words) == 1 and random.integers(2) else tuple(words)


def same(seen, expected):
    """Asserts that values and types are equal."""
    seen = np.asarray(seen)
    assert seen.dtype == expected.dtype and seen.shape == expected.shape, (seen, expected)
    assert np.array_equal(seen, expected), (seen, expected)


def reads_and_writes(shape, dtype):
    """With random keys, one writer after another."""
    random = np.random.default_rng(7)
    for array in arrays(shape, dtype):
        model = values(shape, dtype)
        assert (array.shape, array.dtype, array.ndim, array.size) == (
            shape,
            model.dtype,
            model.ndim,
            model.size,
        )
        array.local[...] = model[np.ix_(*array.local_indices)]
        barrier()
        same(array, model)
        for turn in range(12):
            key = random_key(random, shape)
            same(array[key], np.asarray(model[key]))
            barrier()
            key = random_key(random, shape)
            new = values(np.shape(model[key]), dtype, turn)
            if rank() == turn % ranks():
                array[key] = new
            model[key] = new
            barrier()
            same(array[...], model)
            barrier()
        if model.size:
            one = random_key(random, shape)
            if rank() == 0:
                array[one] = model[(0,) * model.ndim]  # broadcast
            model[one] = model[(0,) * model.ndim]
            barrier()
            same(array, model)
            owners = [array.owner(index) for index in np.ndindex(*shape)]
            assert owners.count(rank()) == array.local.size
        barrier()


def whole_arrays(shape, dtype):
    """Fill, assign and reductions."""
    model = values(shape, dtype)
    for source in arrays(shape, dtype):
        if rank() == 0:
            source[...] = model
        barrier()
        for array in arrays(shape, dtype):
            array.assign(source)
            same(array, model)
            barrier()
            array.fill(model.reshape(-1)[0] if model.size else 0)
            array[...] = source
            same(array, model)
            barrier()
            array.fill(model.reshape(-1)[0] if model.size else 0)
            with array.assign_async(source) as transfer:
                transfer.test()
            transfer.wait()
            same(array, model)
            barrier()
            if model.size:
                array.fill(model[(0,) * model.ndim])
                same(array, np.full_like(model, model[(0,) * model.ndim]))
        in_other_orders(source, model)
        barrier()
        if model.dtype.kind in "iufc" and model.size:
            assert np.isclose(source.sum(), model.sum()) and source.sum().dtype == model.sum().dtype
            assert np.isclose(source.mean(), model.mean())
            if model.dtype.kind != "c":
                assert (source.min(), source.max()) == (model.min(), model.max())


def in_other_orders(source, model):
    """Assigned with the dimensions in another order; negative ones count from the end."""
    for turn in range(1, model.ndim + 1):
        axes = [axis - model.ndim for axis in np.roll(range(model.ndim), turn).tolist()]
        for array in arrays(model.transpose(axes).shape, model.dtype):
            array.assign(source, axes)
            same(array, model.transpose(axes))
            barrier()
            array.fill(model.reshape(-1)[0] if model.size else 0)
            array.assign_async(source, axes).wait()
            same(array, model.transpose(axes))
            barrier()
    turned = source.T
    same(turned, model.T)
    assert model.ndim == 1 or (type(turned), turned.grid) == (type(source), source.grid[::-1])


def bounds():
    """Bounds that do not begin at 0: indices are not wrapped."""
    array = BlockArray(bounds=[(-3, 4), (10, 12)], dtype=int)
    first, second = array.local_indices
    array.local[...] = np.add.outer(10 * first, second)
    barrier()
    assert array[-1, 11] == 1 and array[-3, 10] == -20 and len(array) == 7
    assert array[-2:, 10].tolist() == [-10, 0, 10, 20, 30, 40]
    assert array[::-3, 11].tolist() == [41, 11, -19]
    assert array[...].shape == (7, 2) and [row.tolist() for row in array][3] == [10, 11]
    for key in ((-4, 10), (0, 9), (4, 10), (0, -1)):
        refused(lambda key=key: array[key], "use one of these", IndexError)
    barrier()


def patterns(distribution):
    """Prefetched elements are read without a GET, one by one and in slices, with the owners' values."""
    shape = (7, 7)
    model = values(shape, "i4")
    array = distribution(shape, "i4")
    array.local[...] = model[np.ix_(*array.local_indices)]
    barrier()
    mine = {(int(i), int(j)) for i in array.local_indices[0] for j in array.local_indices[1]}
    neighbourhood = {(i + a, j + b) for i, j in mine for a in (-1, 0, 1) for b in (-1, 0, 1)}
    everything = set(np.ndindex(*shape))
    rows, columns = {i for i, _ in mine}, {j for _, j in mine}
    table = [[(r % 7, slice(None)), np.s_[2:4, 1:3], (99, 0)] for r in range(ranks())]
    named = {(rank() % 7, j) for j in range(7)} | {(i, j) for i in (2, 3) for j in (1, 2)}
    for how in (
        {"consistent": False},
        {"consistent": True},
        {"consistent": False, "static_domain": True},
        {"consistent": False, "barrier": False},
    ):
        for wanted, ask in (
            (neighbourhood & everything, lambda how=how: array.prefetch_stencil(1, **how)),
            ({i for i in everything if i[0] in rows}, lambda how=how: array.prefetch_row_wise(**how)),
            ({i for i in everything if i[1] in columns}, lambda how=how: array.prefetch_column_wise(**how)),
            ({(j, i) for i, j in mine}, lambda how=how: array.prefetch_transpose(**how)),
            (everything, lambda how=how: array.prefetch_all_to_all(**how)),
            (named, lambda how=how: array.prefetch_custom(table, **how)),
        ):
            with ask():
                others = sorted(wanted - mine)
                assert all(array.is_prefetched(index) for index in others)
                sum(array[index] for index in others)  # the first touch, where they are consistent
                before = statistics()["get_messages"]
                assert [array[index] for index in others] == [model[index] for index in others]
                if wanted == everything:
                    same(array[1:6, 2:], model[1:6, 2:])
                assert statistics()["get_messages"] == before
            assert not any(array.is_prefetched(index) for index in others)
            barrier()
    array.observe()
    seen = array[tuple(sorted(everything)[3])], array[6, 6]
    assert array.observed()["left_out"] == 0
    assert array.prefetch_observed(consistent=False) == {
        "elements": len({(0, 3), (6, 6)} - mine),
        "left_out": 0,
    }
    before = statistics()["get_messages"]
    assert seen == (array[0, 3], array[6, 6]) and statistics()["get_messages"] == before
    array.evict_prefetch()
    barrier()


def tables():
    """Keys of a table are those of an array, but indices out of bounds are skipped."""
    array = BlockArray((2, 3, 8), "i4", grid=(1, 1, ranks()))
    last = array.owner((0, 0, 7))
    with array.prefetch_custom([[(..., -1), (1, 9), (0, 0, -20)]] * ranks(), consistent=False):
        for index in np.ndindex(2, 3, 8):
            expected = index[2] == 7 and rank() != last
            assert array.is_prefetched(index) == expected, index
    barrier()


def without_barrier():
    """A pattern without a barrier waits for no rank."""
    array, flags = BlockArray(4 * ranks(), int), BlockArray(ranks(), int)
    array.local[...] = rank() + 1
    barrier()
    if rank() > 0:
        while flags[rank() - 1] == 0:
            nearfetch.acquire()
    with array.prefetch_stencil(1, consistent=False, barrier=False):
        flags.local[...] = 1
        nearfetch.fence()
        left = 4 * rank() - 1
        assert left < 0 or (array[left] == rank() and array.is_prefetched(left))
        barrier()


def later():
    """Patterns that fetch nothing when they are called."""
    array = BlockArray((8, 8), int, grid=(ranks(), 1))
    for pattern in ("stencil", "row_wise", "column_wise", "transpose", "all_to_all"):
        prefetch = getattr(array, f"prefetch_{pattern}")
        for update in (array.update_prefetch, lambda: array.update_prefetch_async().wait()):
            array.local[...] = rank()
            barrier()
            before = nearfetch.statistics()["get_messages"]
            with prefetch(consistent=False, later=True):
                assert nearfetch.statistics()["get_messages"] == before
                array.local[...] = rank() + 1
                barrier()
                update()
                before = nearfetch.statistics()["get_messages"]
                for index in np.ndindex(8, 8):
                    if array.is_prefetched(index):
                        assert array[index] == array.owner(index) + 1
                assert nearfetch.statistics()["get_messages"] == before
                assert ranks() == 1 or pattern == "row_wise" or before > 0
                barrier()


def asynchronous():
    """Data is visible after wait(); a transfer without wait() changes nothing."""
    array = BlockArray(4 * ranks(), int)
    with array.prefetch_stencil_async(1, consistent=False):
        pass
    array.local[...] = rank() + 1
    barrier()
    with array.update_prefetch_async() as transfer:
        transfer.test()
    left = 4 * rank() - 1
    assert left < 0 or (array[left] == rank() and array.is_prefetched(left))
    barrier()
    array.evict_prefetch()
    refused(array.update_prefetch, "evict")
    barrier()


def taken(shape, dtype):
    """Elements by index arrays, with broadcasting, repetitions and negative numbers."""
    random = np.random.default_rng(11)
    model = values(shape, dtype)
    for array in arrays(shape, dtype):
        array.local[...] = model[np.ix_(*array.local_indices)]
        barrier()
        for count in ((9,), (2, 3), (0,), ()):
            named = tuple(random.integers(-extent, extent, count) for extent in shape)
            same(array.take(named), np.asarray(model[named]))
        spread = np.ix_(*([extent - 1, 0, -1] for extent in shape))
        same(array.take(spread), model[spread])
        if len(shape) == 1:
            same(array.take([0, -1, 0]), model[[0, -1, 0]])
        barrier()


def observed():
    """Elements taken while observing are then read without messages."""
    array = CyclicArray(50, "i4")
    array.local[...] = array.local_indices[0]
    barrier()
    chosen = np.random.default_rng(rank()).integers(0, 50, 40)
    array.observe()
    assert array.take(chosen).tolist() == chosen.tolist()
    others = {int(i) for i in chosen if array.owner(i) != rank()}
    assert array.prefetch_observed(consistent=False) == {"elements": len(others), "left_out": 0}
    before = statistics()["get_messages"]
    assert array.take(chosen).tolist() == chosen.tolist()
    assert statistics()["get_messages"] == before
    barrier()
    array.evict_prefetch()


def gathered(dtype):
    """Gathered elements have the values of the last update, whatever was written since."""
    random = np.random.default_rng(rank())
    for extents in ((40,), (5, 8), (2, 4, 5), (2, 2, 2, 5)):
        for array in arrays(extents, dtype):
            gathers(array, random)
    gathered = BlockArray(bounds=[(-3, 9)], dtype=int).gather([range(-3, 0)] * 2)
    gathered.update()
    assert np.asarray(gathered, "f4").tolist() == [[0.0] * 3] * 2
    assert len(gathered) == 2 and repr(gathered) == "Gather(shape=(2, 3), dtype=int64, elements=3)"
    barrier()


def gathers(array, random):
    """Of one array, with indices of some shapes."""
    for shape in ((60,), (4, 5), (0,), (3, 0), ()):
        named = [random.integers(-extent, extent, shape) for extent in array.shape]
        flat = random.integers(-array.size, array.size, shape)
        places = np.unravel_index(flat % array.size, array.shape)
        for given, key in ((tuple(named), tuple(named)), (flat, places)):
            gathered = array.gather(given)
            elements, expected = gathered.elements, np.zeros(shape, array.dtype)
            assert (gathered.shape, gathered.dtype) == (shape, array.dtype)
            assert gathered.positions.shape == shape and gathered.positions.dtype == np.uint32
            assert not flat.size or not (gathered.positions.flags.writeable or elements.flags.writeable)
            for turn in range(3):
                model = values(array.shape, array.dtype, turn)
                array.local[...] = model[np.ix_(*array.local_indices)]
                barrier()
                same(gathered, expected)
                gathered.update()
                expected = np.asarray(model[key])
                same(gathered, expected)
                same(np.asarray(elements[gathered.positions]), expected)
                barrier()


def wrong_gathers():
    """They change nothing; after a resize there is no update."""
    array = BlockArray(5, int)
    array.fill(1)
    gathered = array.gather([0, 4])
    gathered.update()
    for wrong, words in (
        (5, "index 5 of dimension 0"),
        ([0, -6], "index -6 of dimension 0"),
        (0.5, "whole numbers"),
        (([0], [0]), "an array for each"),
    ):
        refused(lambda wrong=wrong: array.gather(wrong), words, IndexError)
    refused(lambda: BlockArray((4, 5)).gather([20]), "index 20", IndexError)
    refused(lambda: BlockArray((4, 5)).gather(([0], [5])), "index 5 of dimension 1", IndexError)
    array.resize(7)
    array.fill(2)
    refused(gathered.update, "make another Gather")
    same(gathered, np.array([1, 1]))
    gathered = array.gather([0, -1])
    gathered.update()
    same(gathered, np.array([2, 2]))
    try:
        np.asarray(gathered, copy=False)
    except ValueError as problem:
        assert "without a copy" in str(problem)
    barrier()


def refused(call, words, kind=nearfetch.Error):
    """Asserts that a wrong use is reported."""
    problem = raised(call, words, kind)
    assert isinstance(problem, nearfetch.Error), problem


def raised(call, words, kind):
    """The error with these words that a call raises: of nearfetch, or as numpy does."""
    try:
        call()
    except kind as problem:
        assert words in str(problem), problem
        return problem
    raise AssertionError(f"not refused: {words}")


def wrong_uses():
    """Errors of one rank only, and those that all ranks survive."""
    array = BlockArray((4, 5), "f4")
    for key in ((4, 0), (0, 5), (-5, 0), (0, 10**30), (0, -(10**30))):
        refused(lambda key=key: array[key], "use one of these", IndexError)
    refused(lambda: array[0, 0, 0], "at most as many", IndexError)
    refused(lambda: array[..., ...], "one ellipsis", IndexError)
    for key in (None, 1.5, "x", True, slice("a")):
        refused(lambda key=key: array[key], "dimension 0", IndexError)
    refused(lambda: array.owner(3), "use as many")
    for wrong, words in (
        (([0, 4], 0), "index 4 of dimension 0"),
        ((0, [[-6]]), "index -6 of dimension 1"),
        ((0, np.array([2**64 - 1], "u8")), "index 18446744073709551615 of dimension 1"),
        (([0.5], 0), "whole numbers"),
        (([True], 0), "whole numbers"),
        ((None, 0), "whole numbers"),
        (([0], [1], [2]), "an array for each"),
    ):
        refused(lambda wrong=wrong: array.take(wrong), words, IndexError)
    refused(lambda: BlockArray((2, 2), object), "Python's objects")
    refused(lambda: BlockArray((1,) * 5), "1 to 4")
    refused(lambda: BlockArray(()), "1 to 4")
    refused(lambda: BlockArray((2, -1)), "bounds")
    refused(lambda: BlockArray("ab"), "whole numbers")
    refused(lambda: BlockArray(), "give one of them")
    refused(lambda: BlockArray((2, 2), grid=(ranks(),)), "one number for each")
    refused(lambda: BlockArray((2, 2), grid=(ranks() + 1, 1)), "rank")
    refused(lambda: BlockCyclicArray((2, 2), block=(0, 1)), "block")
    refused(lambda: array.prefetch_stencil(0), "use 1 or more")
    refused(lambda: BlockArray(3).prefetch_transpose(), "two")
    refused(lambda: array.prefetch_custom([[]] * (ranks() + 1)), "row")
    for key, words in (((0, 0, 0), "at most as many"), ("x", "dimension 0"), (slice(0, 4, 2), "has steps")):
        refused(lambda key=key: array.prefetch_custom([[key]] * ranks()), words)
    refused(lambda: array.assign(BlockArray((4, 5), "i4")), "same dtype")
    refused(lambda: array.assign(BlockArray((4, 6), "f4")), "same bounds")
    for assign in (array.assign, array.assign_async):
        refused(lambda assign=assign: assign(np.zeros(3)), "source is a distributed array")
    for axes in ((0, 0), (0,), (0, 2), (-3, 1), (0.0, 1), (1, 0, 2)):
        refused(lambda axes=axes: array.assign(array, axes), "each dimension is there once")
    refused(lambda: array.assign(BlockArray((4, 5), "f4"), (1, 0)), "same bounds")
    square = BlockArray((3, 3))
    refused(lambda: square.assign(square, (1, 0)), "use another array")
    refused(lambda: array.with_halo(-1), "use 0 or more")
    refused(lambda: CyclicArray(4).local_box, "local_indices")
    refused(lambda: BlockArray(0).max(), "without elements")
    refused(lambda: launch(main), "where no rank runs")
    refused(array.update_prefetch, "pattern")
    try:
        array[0:2, 0] = [1, 2, 3]
    except ValueError as problem:
        assert "broadcast" in str(problem)
    try:
        np.asarray(array, copy=False)
    except ValueError as problem:
        assert "without a copy" in str(problem)
    barrier()


def main():
    """All of it, in one program."""
    for number, dtype in enumerate(DTYPES):
        for shape in SHAPES[number % 2 :: 2] if ranks() > 1 else SHAPES:
            reads_and_writes(shape, dtype)
            whole_arrays(shape, dtype)
    bounds()
    for distribution in (BlockArray, CyclicArray):
        patterns(distribution)
    for number, dtype in enumerate(DTYPES):
        taken(((5,), (3, 4), (2, 3, 4), (2, 1, 3, 2))[number % 4], dtype)
    for dtype in (*DTYPES, "i2"):
        gathered(dtype)
    wrong_gathers()
    observed()
    tables()
    without_barrier()
    later()
    asynchronous()
    wrong_uses()
    return rank()


if __name__ == "__main__":
    run_checks(main)
