/* Decodes a part of a JPEG image with a libjpeg-turbo found at run time, whose headers and version are unknown at
 * compile time. The part's pixels equal those of the whole image.
 *
 * Only the start of libjpeg's structures is declared here; it is the same in the ABIs 62 and 80. The library reports
 * its version and the full size of its structures when it rejects wrong ones.
 */
#ifndef PIPELINE_REGION_H
#define PIPELINE_REGION_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define PIPELINE_NO_LIBJPEG 1
#else
#include <dlfcn.h>
#endif

struct pipeline_jpeg_errors { /* struct jpeg_error_mgr */
    void (*error_exit)(void*);
    void (*emit_message)(void*, int);
    void (*output_message)(void*);
    void (*format_message)(void*, char*);
    void (*reset_error_mgr)(void*);
    int msg_code;
    union {
        int i[8];
        char s[80];
    } msg_parm;
    int trace_level;
    long num_warnings;
    const void* table;
    int last_message;
    const void* more_table;
    int first_more, last_more;
    char spare[64];
    jmp_buf jump; /* ours */
};

struct pipeline_jpeg { /* the start of struct jpeg_decompress_struct */
    pipeline_jpeg_errors* err;
    void *mem, *progress, *client_data;
    int is_decompressor, global_state;
    void* src;
    unsigned image_width, image_height;
    int num_components, jpeg_color_space, out_color_space;
    unsigned scale_num, scale_denom;
    double output_gamma;
    int buffered_image, raw_data_out, dct_method, do_fancy_upsampling, do_block_smoothing, quantize_colors;
    int dither_mode, two_pass_quantize, desired_number_of_colors;
    int enable_1pass_quant, enable_external_quant, enable_2pass_quant;
    unsigned output_width, output_height;
    int out_color_components, output_components, rec_outbuf_height, actual_number_of_colors;
    void* colormap;
    unsigned output_scanline;
    int input_scan_number;
    unsigned input_iMCU_row;
    int output_scan_number;
    unsigned output_iMCU_row;
    int (*coef_bits)[64]; /* NULL unless the image is stored coarse to fine */
};

enum { PIPELINE_SCRATCH_KEPT = 4 << 20, PIPELINE_JPEG_LARGEST = 4096, PIPELINE_JCS_GRAY = 1, PIPELINE_JCS_RGB = 2, PIPELINE_JCS_YCC = 3 };

struct pipeline_libjpeg {
    int version; /* 0: none */
    size_t size;
    pipeline_jpeg_errors* (*std_error)(pipeline_jpeg_errors*);
    void (*create)(pipeline_jpeg*, int, size_t);
    void (*mem_src)(pipeline_jpeg*, const unsigned char*, unsigned long);
    int (*read_header)(pipeline_jpeg*, int);
    int (*start)(pipeline_jpeg*);
    void (*crop)(pipeline_jpeg*, unsigned*, unsigned*);
    unsigned (*skip)(pipeline_jpeg*, unsigned);
    unsigned (*read)(pipeline_jpeg*, uint8_t**, unsigned);
    void (*destroy)(pipeline_jpeg*);
};

static pipeline_libjpeg pipeline_turbo; /* set once, under the GIL or a lock */

static void pipeline_jpeg_failed(void* image) { longjmp(((pipeline_jpeg*)image)->err->jump, 1); }
static void pipeline_jpeg_silent(void* image) { (void)image; }

static void pipeline_jpeg_handle(const pipeline_libjpeg* library, pipeline_jpeg* image, pipeline_jpeg_errors* errors) {
    image->err = library->std_error(errors);
    errors->error_exit = pipeline_jpeg_failed;
    errors->output_message = pipeline_jpeg_silent;
}

/* Whether a progressive image lacks scans. libjpeg then smooths its blocks, and mistakes the edges of a part for the
 * edges of the image. */
static int pipeline_jpeg_coarse(const pipeline_jpeg* image) {
    if (!image->coef_bits) return 0;
    for (int component = 0; component < image->num_components; component++)
        for (int i = 0; i < 64; i++)
            if (image->coef_bits[component][i]) return 1;
    return 0;
}

/* Creates a decoder with a version or size that the library rejects, and returns the right one from the error; else 0. */
static int pipeline_jpeg_refused(const pipeline_libjpeg* library, int version, size_t size, int passed) {
    union {
        pipeline_jpeg image;
        char all[PIPELINE_JPEG_LARGEST];
    } room;
    pipeline_jpeg_errors errors;
    memset(&room, 0, sizeof room);
    memset(&errors, 0, sizeof errors);
    pipeline_jpeg_handle(library, &room.image, &errors);
    if (setjmp(errors.jump)) return errors.msg_parm.i[1] == passed ? errors.msg_parm.i[0] : 0;
    library->create(&room.image, version, size);
    library->destroy(&room.image);
    return 0;
}

/* Uses the libjpeg-turbo at `path` from now on, and returns its ABI version. 0: it is not usable, and none is in use. */
static int pipeline_jpeg_open(const char* path) {
    pipeline_turbo.version = 0;
#ifdef PIPELINE_NO_LIBJPEG
    (void)path;
    return 0;
#else
    pipeline_libjpeg found;
    memset(&found, 0, sizeof found);
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    *(void**)&found.std_error = dlsym(library, "jpeg_std_error");
    *(void**)&found.create = dlsym(library, "jpeg_CreateDecompress");
    *(void**)&found.mem_src = dlsym(library, "jpeg_mem_src");
    *(void**)&found.read_header = dlsym(library, "jpeg_read_header");
    *(void**)&found.start = dlsym(library, "jpeg_start_decompress");
    *(void**)&found.crop = dlsym(library, "jpeg_crop_scanline");
    *(void**)&found.skip = dlsym(library, "jpeg_skip_scanlines");
    *(void**)&found.read = dlsym(library, "jpeg_read_scanlines");
    *(void**)&found.destroy = dlsym(library, "jpeg_destroy_decompress");
    int whole = found.std_error && found.create && found.mem_src && found.read_header && found.start && found.crop &&
                found.skip && found.read && found.destroy;
    int version = whole ? pipeline_jpeg_refused(&found, 1, 0, 1) : 0;
    int size = version == 62 || version == 80 ? pipeline_jpeg_refused(&found, version, 1, 1) : 0;
    if (size < (int)sizeof(pipeline_jpeg) || size > PIPELINE_JPEG_LARGEST) {
        dlclose(library);
        return 0;
    }
    found.version = version;
    found.size = (size_t)size;
    pipeline_turbo = found;
    return version;
#endif
}

struct pipeline_region { /* the part to decode, in pixels of the image after shrinking */
    int top, left, bottom, right;
    int ratio;  /* 1, 2, 4 or 8 */
    int gray;   /* one channel, else three */
    int fast;   /* the less accurate DCT */
    int across; /* the largest horizontal sampling factor */
    /* results */
    int height, width; /* of the whole, shrunk */
    int first, stride; /* column of the first pixel decoded; bytes of a row */
    uint8_t* rows;     /* until the thread decodes again */
};

/* A thread's memory for decoded pixels. It is kept, because clearing fresh memory costs half as much as decoding into
 * it; large blocks are freed. */
struct pipeline_scratch {
    uint8_t* bytes = NULL;
    size_t size = 0;
    uint8_t* room(size_t wanted) {
        if (wanted > size) {
            free(bytes);
            bytes = (uint8_t*)malloc(wanted);
            size = bytes ? wanted : 0;
        }
        return bytes;
    }
    void done() {
        if (size > PIPELINE_SCRATCH_KEPT) {
            free(bytes);
            bytes = NULL;
            size = 0;
        }
    }
    ~pipeline_scratch() { free(bytes); }
};
static thread_local pipeline_scratch pipeline_decoded;

enum { PIPELINE_DECODED = 0, PIPELINE_NOT_SO = 1, PIPELINE_NO_MEMORY = 2 };

/* Decodes the region. PIPELINE_NOT_SO: the image is damaged, incomplete, or not supported by the library. */
static int pipeline_jpeg_region(const uint8_t* data, size_t length, pipeline_region* region) {
    union {
        pipeline_jpeg image;
        char all[PIPELINE_JPEG_LARGEST];
    } room;
    pipeline_jpeg_errors errors;
    pipeline_jpeg* const image = &room.image;
    if (!pipeline_turbo.version) return PIPELINE_NOT_SO;
    memset(&room, 0, pipeline_turbo.size);
    region->rows = NULL;
    pipeline_jpeg_handle(&pipeline_turbo, image, &errors);
    if (setjmp(errors.jump)) {
        pipeline_turbo.destroy(image);
        return PIPELINE_NOT_SO;
    }
    pipeline_turbo.create(image, pipeline_turbo.version, pipeline_turbo.size);
    pipeline_turbo.mem_src(image, data, (unsigned long)length);
    pipeline_turbo.read_header(image, 1);
    const int colours = image->jpeg_color_space;
    if (colours != PIPELINE_JCS_GRAY && colours != PIPELINE_JCS_RGB && colours != PIPELINE_JCS_YCC)
        pipeline_jpeg_failed(image);
    if (region->gray && colours == PIPELINE_JCS_RGB) pipeline_jpeg_failed(image);
    image->out_color_space = region->gray ? PIPELINE_JCS_GRAY : PIPELINE_JCS_RGB;
    image->scale_num = 1;
    image->scale_denom = (unsigned)region->ratio;
    image->dct_method = region->fast ? 1 : 0;
    pipeline_turbo.start(image);
    if (pipeline_jpeg_coarse(image)) pipeline_jpeg_failed(image);
    const unsigned whole = image->output_width, high = image->output_height;
    region->width = (int)whole;
    region->height = (int)high;
    if (region->top < 0 || region->left < 0 || region->bottom <= region->top || region->right <= region->left ||
        (unsigned)region->bottom > high || (unsigned)region->right > whole)
        pipeline_jpeg_failed(image);
    unsigned off = (unsigned)region->left, width = (unsigned)(region->right - region->left);
    /* Colours at half the width are interpolated between neighbours, and libjpeg treats the first and last column that
     * it decodes as the edges of the image. So decode one more column on each side. */
    const unsigned unit = (unsigned)(region->across * 8 / region->ratio);
    if (region->across > 1) {
        if (off && off % unit == 0) {
            off -= 1;
            width += 1;
        }
        if (off + width < whole) width += 1;
        /* libjpeg does not interpolate in very narrow parts. */
        const unsigned least = (unsigned)region->across * 4;
        if (width < least) {
            const unsigned end = whole - off < least ? whole : off + least;
            off = end < least ? 0 : end - least;
            width = end - off;
        }
    }
    if (off || width < whole) pipeline_turbo.crop(image, &off, &width);
    const int channels = region->gray ? 1 : 3;
    region->first = (int)off;
    region->stride = (int)image->output_width * channels;
    const int wanted = region->bottom - region->top;
    region->rows = pipeline_decoded.room((size_t)region->stride * (size_t)wanted + 16);
    if (!region->rows) {
        pipeline_turbo.destroy(image);
        return PIPELINE_NO_MEMORY;
    }
    if (region->top) pipeline_turbo.skip(image, (unsigned)region->top);
    for (int done = 0; done < wanted;) {
        uint8_t* lines[16];
        int most = wanted - done < 16 ? wanted - done : 16;
        for (int i = 0; i < most; i++) lines[i] = region->rows + (size_t)region->stride * (size_t)(done + i);
        const int got = (int)pipeline_turbo.read(image, lines, (unsigned)most);
        if (!got) pipeline_jpeg_failed(image);
        done += got;
    }
    const long warnings = errors.num_warnings;
    pipeline_turbo.destroy(image);
    return warnings ? PIPELINE_NOT_SO : PIPELINE_DECODED;
}

#endif
