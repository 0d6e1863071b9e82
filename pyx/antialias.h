/* Resizes a box of an image as Pillow does: each pixel of the result is a weighted mean of all pixels that it covers,
 * so shrinking does not alias. Plain C++ without exceptions; callers release the GIL. */
#ifndef PIPELINE_ANTIALIAS_H
#define PIPELINE_ANTIALIAS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Compiles a function once per vector width. All versions round sums alike (see EXACT in setup.py). Sanitizers and C
 * libraries other than glibc cannot choose among versions at load time. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PIPELINE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PIPELINE_CLONES
#endif

typedef float pipeline_four __attribute__((vector_size(16), aligned(4)));
typedef float pipeline_eight __attribute__((vector_size(32), aligned(4)));
typedef int32_t pipeline_whole __attribute__((vector_size(16)));

/* Eight rows of a result are computed together; a vector holds one value of each row. So pixels with any number of
 * channels fill vectors, and a weight is read once for all rows. Source rows are summed in blocks that fit into the
 * cache. */
enum { PIPELINE_TOGETHER = 8, PIPELINE_BLOCK = 256, PIPELINE_PITCH = PIPELINE_BLOCK + 16 };

enum { PIPELINE_LINEAR = 0, PIPELINE_CUBIC = 1 };

/* The pixels that the filter may read, [rows, columns, channels]: contiguous rows, `stride` values apart. */
struct pipeline_pixels {
    const uint8_t* bytes; /* one of the two is NULL */
    const float* floats;
    ptrdiff_t stride;
    int rows, columns, channels;
};

/* The result, as uint8 or float32, each value times `factor` plus `offset` of its channel. */
struct pipeline_result {
    uint8_t* bytes;
    float* floats;
    int rows, columns;
    ptrdiff_t row, pixel, channel; /* steps in values */
    const float* factor;
    const float* offset;
};

struct pipeline_box { /* the box to resize, in pixels; the filter may read pixels outside of it */
    double top, left, bottom, right;
};

struct pipeline_axis {
    float* weights; /* [results, taps] */
    int* first;     /* the first pixel of each result */
    int* count;     /* the number of its taps in use */
    int taps;
};

static inline double pipeline_weight(double x, int filter) {
    x = fabs(x);
    if (filter == PIPELINE_LINEAR) return x < 1 ? 1 - x : 0;
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/* Computes the weights of `results` positions in [from, to) on an axis of `size` pixels; mirrored if `flip`. Returns 0
 * without memory. */
static int pipeline_weigh(pipeline_axis* axis, double from, double to, int size, int results, int filter, int flip) {
    double scale = (to - from) / results, wide = scale < 1 ? 1 : scale;
    double reach = (filter == PIPELINE_CUBIC ? 2 : 1) * wide;
    int taps = 2 * (int)ceil(reach) + 1;
    if (taps > size) taps = size;
    axis->taps = taps;
    axis->weights = (float*)malloc(sizeof(float) * (size_t)taps * results + 16);
    axis->first = (int*)malloc(sizeof(int) * 2 * (size_t)results);
    if (!axis->weights || !axis->first) return 0;
    axis->count = axis->first + results;
    for (int i = 0; i < results; i++) {
        double centre = from + (i + 0.5) * scale, sum = 0;
        int first = (int)floor(centre - reach + 0.5), last = (int)floor(centre + reach + 0.5);
        if (first < 0) first = 0;
        if (first > size - 1) first = size - 1;
        if (last > size) last = size;
        if (last < first + 1) last = first + 1;
        if (last - first > taps) last = first + taps;
        int to_place = flip ? results - 1 - i : i, count = last - first;
        float* weights = axis->weights + (size_t)to_place * taps;
        for (int t = 0; t < count; t++) {
            double weight = pipeline_weight((first + t - centre + 0.5) / wide, filter);
            weights[t] = (float)weight;
            sum += weight;
        }
        if (sum == 0) {
            weights[0] = 1;
            sum = 1;
        }
        for (int t = 0; t < count; t++) weights[t] = (float)(weights[t] / sum);
        for (int t = count; t < taps; t++) weights[t] = 0;
        while (count > 1 && weights[count - 1] == 0) count--;
        axis->first[to_place] = first;
        axis->count[to_place] = count;
    }
    return 1;
}

PIPELINE_CLONES static void pipeline_as_floats(const uint8_t* values, int size, float* __restrict made) {
    for (int i = 0; i < size; i++) made[i] = (float)values[i];
}

/* The weighted sum of `count` rows. */
PIPELINE_CLONES static void pipeline_sum_rows(const float* rows, ptrdiff_t stride, int count, const float* w, int size,
                                              float* __restrict sums) {
    const float *p = rows, *q = p + stride, *r = q + stride, *s = r + stride;
    if (count == 1)
        for (int i = 0; i < size; i++) sums[i] = w[0] * p[i];
    else if (count == 2)
        for (int i = 0; i < size; i++) sums[i] = w[0] * p[i] + w[1] * q[i];
    else if (count == 3)
        for (int i = 0; i < size; i++) sums[i] = w[0] * p[i] + w[1] * q[i] + w[2] * r[i];
    else
        for (int i = 0; i < size; i++) sums[i] = (w[0] * p[i] + w[1] * q[i]) + (w[2] * r[i] + w[3] * s[i]);
    int k = 4;
    for (; k + 1 < count; k += 2) {
        p = rows + stride * k;
        q = p + stride;
        for (int i = 0; i < size; i++) sums[i] += w[k] * p[i] + w[k + 1] * q[i];
    }
    if (k < count) {
        p = rows + stride * k;
        for (int i = 0; i < size; i++) sums[i] += w[k] * p[i];
    }
}

#ifdef __clang__
#define PIPELINE_MIX(A, B, I, J, K, L) __builtin_shufflevector(A, B, I, J, K, L)
#else
#define PIPELINE_MIX(A, B, I, J, K, L) __builtin_shuffle(A, B, pipeline_whole{I, J, K, L})
#endif

/* Four values of each of four rows that are `gap` apart, as a vector of each of the four columns. */
static inline void pipeline_transpose(const float* from, ptrdiff_t gap, pipeline_four* to) {
    const pipeline_four a = *(const pipeline_four*)from, b = *(const pipeline_four*)(from + gap),
                        c = *(const pipeline_four*)(from + 2 * gap), d = *(const pipeline_four*)(from + 3 * gap);
    const pipeline_four e = PIPELINE_MIX(a, b, 0, 4, 1, 5), f = PIPELINE_MIX(a, b, 2, 6, 3, 7);
    const pipeline_four g = PIPELINE_MIX(c, d, 0, 4, 1, 5), h = PIPELINE_MIX(c, d, 2, 6, 3, 7);
    to[0] = PIPELINE_MIX(e, g, 0, 1, 4, 5);
    to[1] = PIPELINE_MIX(e, g, 2, 3, 6, 7);
    to[2] = PIPELINE_MIX(f, h, 0, 1, 4, 5);
    to[3] = PIPELINE_MIX(f, h, 2, 3, 6, 7);
}

/* Transposes eight rows of a block, so that the eight values of a column are adjacent. Writes up to three columns
 * more. */
static void pipeline_turn(const float* block, int columns, float* turned) {
    pipeline_four* to = (pipeline_four*)turned;
    for (int i = 0; i < columns; i += 4, to += 8) {
        pipeline_four upper[4], lower[4];
        pipeline_transpose(block + i, PIPELINE_PITCH, upper);
        pipeline_transpose(block + 4 * PIPELINE_PITCH + i, PIPELINE_PITCH, lower);
        for (int k = 0; k < 4; k++) {
            to[2 * k] = upper[k];
            to[2 * k + 1] = lower[k];
        }
    }
}

/* The weighted sums of pixels, [pixels, channels, 8], as [results, channels, 8]; times `factor` plus `offset`. */
PIPELINE_CLONES static void pipeline_sum_pixels(const float* pixels, const pipeline_axis* axis, int channels,
                                                const pipeline_result* to, float* sums) {
    const pipeline_eight none = {0, 0, 0, 0, 0, 0, 0, 0};
    const float *factor = to->factor, *offset = to->offset;
    pipeline_eight* made = (pipeline_eight*)sums;
    for (int i = 0; i < to->columns; i++) {
        const float* w = axis->weights + (size_t)i * axis->taps;
        const pipeline_eight* p = (const pipeline_eight*)pixels + (size_t)channels * axis->first[i];
        const int count = axis->count[i];
        int c = 0;
        for (; c + 2 < channels; c += 3, p += 3, made += 3) { /* three channels share each weight read */
            pipeline_eight a = w[0] * p[0], b = w[0] * p[1], d = w[0] * p[2], e = none, f = none, g = none;
            const pipeline_eight* q = p + channels;
            int t = 1;
            for (; t + 1 < count; t += 2, q += 2 * channels) {
                e += w[t] * q[0];
                f += w[t] * q[1];
                g += w[t] * q[2];
                a += w[t + 1] * q[channels];
                b += w[t + 1] * q[channels + 1];
                d += w[t + 1] * q[channels + 2];
            }
            if (t < count) {
                e += w[t] * q[0];
                f += w[t] * q[1];
                g += w[t] * q[2];
            }
            made[0] = (a + e) * factor[c] + offset[c];
            made[1] = (b + f) * factor[c + 1] + offset[c + 1];
            made[2] = (d + g) * factor[c + 2] + offset[c + 2];
        }
        for (; c < channels; c++, p++, made++) {
            pipeline_eight even = w[0] * p[0], odd = none;
            for (int t = 1; t < count; t++)
                if (t % 2)
                    odd += w[t] * p[(size_t)channels * t];
                else
                    even += w[t] * p[(size_t)channels * t];
            made[0] = (even + odd) * factor[c] + offset[c];
        }
    }
}

/* NaN becomes 0, because comparisons with it are false. */
PIPELINE_CLONES static void pipeline_round(const float* values, size_t count, uint8_t* __restrict out) {
    for (size_t i = 0; i < count; i++) {
        float value = values[i] + 0.5f;
        value = value > 0.0f ? value : 0.0f;
        value = value < 255.0f ? value : 255.0f;
        out[i] = (uint8_t)(int)value;
    }
}

/* Writes lines of `count` values. The values of eight lines are adjacent in the input, and columns are `gap` apart. */
static void pipeline_lines(const float* values, ptrdiff_t gap, int count, int lines, float* out, ptrdiff_t row) {
    int i = 0;
    for (; i + 3 < count; i += 4) {
        pipeline_four made[8];
        pipeline_transpose(values + gap * i, gap, made);
        pipeline_transpose(values + gap * i + 4, gap, made + 4);
        for (int k = 0; k < lines; k++) *(pipeline_four*)(out + row * k + i) = made[k];
    }
    for (; i < count; i++)
        for (int k = 0; k < lines; k++) out[row * k + i] = values[gap * i + k];
}

static void pipeline_lines(const uint8_t* values, ptrdiff_t gap, int count, int lines, uint8_t* out, ptrdiff_t row) {
    static const uint64_t masks[3] = {0x00000000FFFFFFFF, 0x0000FFFF0000FFFF, 0x00FF00FF00FF00FF};
    int i = 0;
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (; i + 7 < count; i += 8) {
        uint64_t made[8];
        for (int k = 0; k < 8; k++) memcpy(&made[k], values + gap * (i + k), 8);
        for (int step = 0; step < 3; step++) { /* halves, quarters and eighths change places */
            const int apart = 4 >> step;
            for (int k = 0; k < 8; k++) {
                if (k & apart) continue;
                const uint64_t moved = (made[k] >> 8 * apart ^ made[k + apart]) & masks[step];
                made[k + apart] ^= moved;
                made[k] ^= moved << 8 * apart;
            }
        }
        for (int k = 0; k < lines; k++) memcpy(out + row * k + i, &made[k], 8);
    }
#endif
    for (; i < count; i++)
        for (int k = 0; k < lines; k++) out[row * k + i] = values[gap * i + k];
}

/* Writes rows of a result from [columns, channels, 8]. */
template <class Type>
static void pipeline_write(const Type* values, int channels, const pipeline_result* to, int rows, Type* out) {
    const ptrdiff_t gap = PIPELINE_TOGETHER * channels;
    if (to->channel == 1 && to->pixel == channels) {
        pipeline_lines(values, PIPELINE_TOGETHER, to->columns * channels, rows, out, to->row);
    } else if (to->pixel == 1) {
        for (int c = 0; c < channels; c++)
            pipeline_lines(values + PIPELINE_TOGETHER * c, gap, to->columns, rows, out + to->channel * c, to->row);
    } else {
        for (int i = 0; i < to->columns; i++)
            for (int c = 0; c < channels; c++)
                for (int k = 0; k < rows; k++)
                    out[to->row * k + to->pixel * i + to->channel * c] = values[gap * i + PIPELINE_TOGETHER * c + k];
    }
}

/* Allocates vectors of eight; the caller frees `start`. */
static float* pipeline_vectors(size_t count, void** start) {
    *start = malloc(count * sizeof(pipeline_eight) + 64);
    return (float*)(((uintptr_t)*start + 63) & ~(uintptr_t)63);
}

/* Returns the end of the source rows needed for the rows of a result that are computed together, from row `y` on;
 * `first` is their begin. If a weight at an end is 0, the next row of a result may need fewer rows than the one
 * before. */
static int pipeline_rows_of(const pipeline_axis* axis, int results, int y, int* first) {
    int last = 0;
    *first = axis->first[y];
    for (int k = y; k < results && k < y + PIPELINE_TOGETHER; k++) {
        if (axis->first[k] < *first) *first = axis->first[k];
        if (axis->first[k] + axis->count[k] > last) last = axis->first[k] + axis->count[k];
    }
    return last;
}

/* Returns the largest number of source rows needed for rows of a result that are computed together. */
static int pipeline_span(const pipeline_axis* axis, int results) {
    int most = 0, first;
    for (int y = 0; y < results; y += PIPELINE_TOGETHER) {
        const int span = pipeline_rows_of(axis, results, y, &first) - first;
        if (span > most) most = span;
    }
    return most;
}

/* Resizes a box of `from` into `to`. Returns 0 if memory is missing. */
static int pipeline_resample(const pipeline_pixels* from, const pipeline_box* box, int filter, int flip,
                             const pipeline_result* to) {
    pipeline_axis down = {NULL, NULL, NULL, 0}, across = {NULL, NULL, NULL, 0};
    const int size = from->columns * from->channels;
    const size_t results = (size_t)to->columns * from->channels;
    void *of_rows = NULL, *of_block, *of_pixels, *of_sums;
    float *rows = NULL, *block = pipeline_vectors(PIPELINE_PITCH, &of_block);
    float* pixels = pipeline_vectors((size_t)size + 4, &of_pixels);
    float* sums = pipeline_vectors(results, &of_sums);
    uint8_t* bytes = to->bytes ? (uint8_t*)malloc(results * PIPELINE_TOGETHER) : NULL;
    int made = of_block && of_pixels && of_sums && (bytes || !to->bytes) &&
               pipeline_weigh(&down, box->top, box->bottom, from->rows, to->rows, filter, 0) &&
               pipeline_weigh(&across, box->left, box->right, from->columns, to->columns, filter, flip);
    if (made && from->bytes) {
        rows = pipeline_vectors((size_t)pipeline_span(&down, to->rows) * PIPELINE_PITCH / PIPELINE_TOGETHER + 1, &of_rows);
        made = of_rows != NULL;
    }
    if (made) memset(block, 0, PIPELINE_PITCH * sizeof(pipeline_eight));
    for (int y = 0; made && y < to->rows; y += PIPELINE_TOGETHER) {
        const int lines = to->rows - y < PIPELINE_TOGETHER ? to->rows - y : PIPELINE_TOGETHER;
        int first;
        const int last = pipeline_rows_of(&down, to->rows, y, &first);
        for (int i = 0; i < size; i += PIPELINE_BLOCK) {
            const int columns = size - i < PIPELINE_BLOCK ? size - i : PIPELINE_BLOCK;
            const ptrdiff_t at = from->stride * first + i, gap = from->bytes ? (ptrdiff_t)PIPELINE_PITCH : from->stride;
            for (int row = first; from->bytes && row < last; row++)
                pipeline_as_floats(from->bytes + at + from->stride * (row - first), columns, rows + gap * (row - first));
            const float* start = from->bytes ? rows : from->floats + at;
            for (int k = y; k < y + lines; k++)
                pipeline_sum_rows(start + gap * (down.first[k] - first), gap, down.count[k],
                                  down.weights + (size_t)k * down.taps, columns, block + PIPELINE_PITCH * (k - y));
            pipeline_turn(block, columns, pixels + (size_t)PIPELINE_TOGETHER * i);
        }
        pipeline_sum_pixels(pixels, &across, from->channels, to, sums);
        if (to->bytes) {
            pipeline_round(sums, results * PIPELINE_TOGETHER, bytes);
            pipeline_write(bytes, from->channels, to, lines, to->bytes + to->row * y);
        } else {
            pipeline_write(sums, from->channels, to, lines, to->floats + to->row * y);
        }
    }
    free(of_rows);
    free(of_block);
    free(of_pixels);
    free(of_sums);
    free(bytes);
    free(down.weights);
    free(down.first);
    free(across.weights);
    free(across.first);
    return made;
}

#endif
