/* Resizes a box of an image as Pillow does: each pixel of the result is a weighted mean of all pixels that it covers,
 * so that shrinking does not alias. Plain C++ without exceptions; callers release the GIL.
 */
#ifndef PIPELINE_ANTIALIAS_H
#define PIPELINE_ANTIALIAS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One compilation for each width of vectors. Sums are rounded alike in all of them (see EXACT in setup.py). Sanitizers
 * and libraries other than glibc cannot choose among functions at load time. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PIPELINE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define PIPELINE_CLONES
#endif

typedef float pipeline_four __attribute__((vector_size(16), aligned(4)));
typedef int32_t pipeline_whole __attribute__((vector_size(16)));

enum { PIPELINE_LINEAR = 0, PIPELINE_CUBIC = 1 };

/* The pixels that may count, [rows, columns, channels]: contiguous in a row, and rows `stride` values apart. */
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

struct pipeline_box { /* what to resize, in pixels; others count where the filter reaches beyond it */
    double top, left, bottom, right;
};

struct pipeline_axis {
    float* weights; /* [results, taps] */
    int* first;     /* the first pixel of each result */
    int* count;     /* how many of its taps count */
    int taps;
};

static inline double pipeline_weight(double x, int filter) {
    x = fabs(x);
    if (filter == PIPELINE_LINEAR) return x < 1 ? 1 - x : 0;
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

/* The weights of `results` places in [from, to) of an axis of `size` pixels; mirrored if `flip`. 0: no memory. */
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

/* The weighted sum of `count` rows. */
#define PIPELINE_SUM_ROWS(NAME, TYPE)                                                                               \
    PIPELINE_CLONES static void NAME(const TYPE* rows, ptrdiff_t stride, int count, const float* weights, int size, \
                                     float* __restrict sums) {                                                      \
        const float first = weights[0], second = count > 1 ? weights[1] : 0;                                        \
        const TYPE *one = rows, *two = count > 1 ? rows + stride : rows;                                            \
        for (int i = 0; i < size; i++) sums[i] = first * (float)one[i] + second * (float)two[i];                    \
        int k = 2;                                                                                                  \
        for (; k + 1 < count; k += 2) {                                                                             \
            const float a = weights[k], b = weights[k + 1];                                                         \
            const TYPE *p = rows + stride * k, *q = p + stride;                                                     \
            for (int i = 0; i < size; i++) sums[i] += a * (float)p[i] + b * (float)q[i];                            \
        }                                                                                                           \
        if (k < count) {                                                                                            \
            const float a = weights[k];                                                                             \
            const TYPE* p = rows + stride * k;                                                                      \
            for (int i = 0; i < size; i++) sums[i] += a * (float)p[i];                                              \
        }                                                                                                           \
    }
PIPELINE_SUM_ROWS(pipeline_sum_bytes, uint8_t)
PIPELINE_SUM_ROWS(pipeline_sum_floats, float)

static inline void pipeline_put(uint8_t* out, float value) {
    /* Not a number becomes 0, as comparisons with it are false. */
    *out = value > 0 ? (value < 255 ? (uint8_t)(value + 0.5f) : 255) : 0;
}
static inline void pipeline_put(float* out, float value) { *out = value; }

static inline __attribute__((always_inline)) void pipeline_put_three(float* out, ptrdiff_t step, pipeline_four value) {
    out[0] = value[0];
    out[step] = value[1];
    out[2 * step] = value[2];
}
static inline __attribute__((always_inline)) void pipeline_put_three(uint8_t* out, ptrdiff_t step,
                                                                     pipeline_four value) {
    const pipeline_four half = {0.5f, 0.5f, 0.5f, 0.5f}, most = {255, 255, 255, 255}, none = {0, 0, 0, 0};
    value = value > none ? value + half : none;
    value = value < most ? value : most;
    const pipeline_whole whole = __builtin_convertvector(value, pipeline_whole);
    out[0] = (uint8_t)whole[0];
    out[step] = (uint8_t)whole[1];
    out[2 * step] = (uint8_t)whole[2];
}

/* Sums of a row's pixels, three channels at once. `sums` has a value to spare behind the last pixel. */
#define PIPELINE_SUM_THREE(NAME, TYPE)                                                                           \
    PIPELINE_CLONES static void NAME(const float* sums, const pipeline_axis* axis, int results,                  \
                                     const pipeline_result* to, TYPE* out) {                                     \
        const int taps = axis->taps;                                                                             \
        const ptrdiff_t pixel = to->pixel, channel = to->channel;                                                \
        const pipeline_four factor = {to->factor[0], to->factor[1], to->factor[2], 0};                           \
        const pipeline_four offset = {to->offset[0], to->offset[1], to->offset[2], 0};                           \
        for (int i = 0; i < results; i++) {                                                                      \
            const float *p = sums + 3 * axis->first[i], *w = axis->weights + (size_t)i * taps;                   \
            const int count = axis->count[i];                                                                    \
            pipeline_four even = {0, 0, 0, 0}, odd = {0, 0, 0, 0};                                               \
            int t = 0;                                                                                           \
            for (; t + 1 < count; t += 2) {                                                                      \
                const pipeline_four a = {w[t], w[t], w[t], w[t]}, b = {w[t + 1], w[t + 1], w[t + 1], w[t + 1]};  \
                even = even + a * *(const pipeline_four*)(p + 3 * t);                                            \
                odd = odd + b * *(const pipeline_four*)(p + 3 * t + 3);                                          \
            }                                                                                                    \
            if (t < count) {                                                                                     \
                const pipeline_four a = {w[t], w[t], w[t], w[t]};                                                \
                even = even + a * *(const pipeline_four*)(p + 3 * t);                                            \
            }                                                                                                    \
            pipeline_put_three(out + pixel * i, channel, (even + odd) * factor + offset);                        \
        }                                                                                                        \
    }
PIPELINE_SUM_THREE(pipeline_three_bytes, uint8_t)
PIPELINE_SUM_THREE(pipeline_three_floats, float)

template <class Type>
static void pipeline_sum_pixels(const float* sums, const pipeline_axis* axis, int channels, const pipeline_result* to,
                                Type* out) {
    for (int i = 0; i < to->columns; i++) {
        const float *p = sums + (size_t)channels * axis->first[i], *w = axis->weights + (size_t)i * axis->taps;
        for (int c = 0; c < channels; c++) {
            float even = 0, odd = 0; /* summed as three channels are, so that equal channels stay equal */
            int t = 0;
            for (; t + 1 < axis->count[i]; t += 2) {
                even += w[t] * p[(size_t)channels * t + c];
                odd += w[t + 1] * p[(size_t)channels * (t + 1) + c];
            }
            if (t < axis->count[i]) even += w[t] * p[(size_t)channels * t + c];
            pipeline_put(out + to->pixel * i + to->channel * c, (even + odd) * to->factor[c] + to->offset[c]);
        }
    }
}

/* Resizes a box of `from` into `to`. Returns 0 if memory is missing. */
static int pipeline_resample(const pipeline_pixels* from, const pipeline_box* box, int filter, int flip,
                             const pipeline_result* to) {
    pipeline_axis down = {NULL, NULL, NULL, 0}, across = {NULL, NULL, NULL, 0};
    const int size = from->columns * from->channels;
    float* sums = (float*)malloc(sizeof(float) * ((size_t)size + 16));
    int made = sums && pipeline_weigh(&down, box->top, box->bottom, from->rows, to->rows, filter, 0) &&
               pipeline_weigh(&across, box->left, box->right, from->columns, to->columns, filter, flip);
    if (made) memset(sums + size, 0, sizeof(float) * 16);
    for (int y = 0; made && y < to->rows; y++) {
        const float* weights = down.weights + (size_t)y * down.taps;
        const ptrdiff_t at = from->stride * down.first[y];
        if (from->bytes)
            pipeline_sum_bytes(from->bytes + at, from->stride, down.count[y], weights, size, sums);
        else
            pipeline_sum_floats(from->floats + at, from->stride, down.count[y], weights, size, sums);
        if (to->bytes) {
            uint8_t* out = to->bytes + to->row * y;
            if (from->channels == 3)
                pipeline_three_bytes(sums, &across, to->columns, to, out);
            else
                pipeline_sum_pixels(sums, &across, from->channels, to, out);
        } else {
            float* out = to->floats + to->row * y;
            if (from->channels == 3)
                pipeline_three_floats(sums, &across, to->columns, to, out);
            else
                pipeline_sum_pixels(sums, &across, from->channels, to, out);
        }
    }
    free(sums);
    free(down.weights);
    free(down.first);
    free(across.weights);
    free(across.first);
    return made;
}

#endif
