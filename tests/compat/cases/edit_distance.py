"""tf.edit_distance: groups in two sparse tensors, groups missing in one, wrong groups."""

import numpy as np
from compat_cases import case, table

HERE, THERE = [["kitten", ""], ["flaw", "gumbo"]], [["sitting", "abc"], ["lawn", ""]]


def _letters(tf, groups, shape=None, known=True):
    """Return a sparse tensor with each word's letters along its last axis."""
    indices = [
        [*group, at] for group in np.ndindex(np.shape(groups)) for at in range(len(np.asarray(groups, object)[group]))
    ]
    letters = "".join(np.asarray(groups, object).ravel())
    width = max(map(len, np.asarray(groups, object).ravel()), default=0)
    parts = [
        np.array(indices, np.int64).reshape(-1, np.ndim(groups) + 1),
        np.array(list(letters), object),
        np.array(shape or [*np.shape(groups), width], np.int64),
    ]
    return (
        tf.SparseTensor(*parts)
        if known
        else tf.SparseTensor(*(tf.placeholder_with_default(each, None) for each in parts))
    )


def _distance(hypothesis, truth, **options):
    return lambda tf: tf.edit_distance(_letters(tf, hypothesis), _letters(tf, truth), **options)


def _sparse(tf, indices, values, shape):
    return tf.SparseTensor(np.array(indices, np.int64), values, np.array(shape, np.int64))


table(
    two_axes=_distance(HERE, THERE),
    two_axes_counted=_distance(HERE, THERE, normalize=False, name="far"),
    one_axis=_distance(["abcde", "abc", "", ""], ["ab", "", "xyz", ""]),
    one_axis_counted=_distance(["abcde", "abc", "", ""], ["ab", "", "xyz", ""], normalize=False),
    one_word=_distance(["saturday"], ["sunday"], normalize=False),
    same=_distance(["abab"], ["abab"]),
    all_deleted=_distance([""], ["abc"]),
    all_inserted=_distance(["abc"], [""]),
    nothing=_distance([""], [""]),
    more_groups_of_truth=_distance(["a"], ["a", "bc", "d"]),
    more_groups_of_hypothesis=_distance(["a", "bc", "d"], ["a"], normalize=False),
    unknown_shapes=lambda tf: tf.edit_distance(
        _letters(tf, HERE, known=False), _letters(tf, THERE, known=False), normalize=False
    ),
    numbers=lambda tf: tf.edit_distance(
        _sparse(tf, [[0, 0], [0, 1], [1, 0]], [1, 2, 3], [2, 2]), _sparse(tf, [[0, 0], [1, 0]], [2, 4], [2, 1])
    ),
    floats=lambda tf: tf.edit_distance(
        _sparse(tf, [[0, 0]], [np.nan], [1, 1]), _sparse(tf, [[0, 0]], [np.nan], [1, 1])
    ),
    gaps_count_as_nothing=lambda tf: tf.edit_distance(
        _sparse(tf, [[0, 0], [0, 5]], ["a", "b"], [1, 6]), _sparse(tf, [[0, 0], [0, 1]], ["a", "b"], [1, 2])
    ),
    values=lambda tf: tf.edit_distance(
        tf.SparseTensorValue([[0, 0]], ["a"], [1, 1]), tf.SparseTensorValue([[0, 0]], ["b"], [1, 1])
    ),
    ranks_differ=(
        lambda tf: tf.edit_distance(_letters(tf, ["a"]), _letters(tf, [["a"]])),
        "Num elements of hypothesis_shape does not match truth_shape: 2 vs. 3",
    ),
    ranks_differ_at_run=(
        lambda tf: tf.edit_distance(_letters(tf, ["a"], known=False), _letters(tf, [["a"]], known=False)),
        "to have matching ranks, but their shapes are: .3. and .2.",
    ),
    dtypes_differ=lambda tf: tf.edit_distance(_letters(tf, ["a"]), _sparse(tf, [[0, 0]], [1], [1, 1])),
    dense_hypothesis=(lambda tf: tf.edit_distance(tf.constant(["a"]), _letters(tf, ["a"])), "Hypothesis must be a"),
    dense_truth=(lambda tf: tf.edit_distance(_letters(tf, ["a"]), ["a"]), "Truth must be a SparseTensor"),
    index_outside=lambda tf: tf.edit_distance(_letters(tf, ["a", "b"], [1, 1]), _letters(tf, ["a", "b"], [1, 1])),
    negative_index=lambda tf: tf.edit_distance(
        _sparse(tf, [[-1, 0]], ["a"], [1, 1]), _sparse(tf, [[0, 0]], ["a"], [1, 1])
    ),
    unsorted=lambda tf: tf.edit_distance(
        _sparse(tf, [[1, 0], [0, 0]], ["a", "b"], [2, 1]), _sparse(tf, [[0, 0], [1, 0]], ["b", "a"], [2, 1])
    ),
    words_of_no_axis=(_distance("saturday", "sunday"), "must have rank at least 2, but hypothesis_shape rank is: 1"),
)


@case(rtol=1e-6)
def many_numbers(tf):
    rng = np.random.default_rng(5)
    pair = []
    for width in (9, 7):
        rows = [[rng.integers(0, 4, rng.integers(0, width + 1)) for _ in range(3)] for _ in range(20)]
        indices = [[i, j, k] for i in range(20) for j in range(3) for k in range(len(rows[i][j]))]
        values = np.concatenate([each for row in rows for each in row])
        pair.append(_sparse(tf, indices, values, [20, 3, width]))
    return tf.edit_distance(*pair, normalize=False)
