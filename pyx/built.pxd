"""Build information, as reported by the compiler."""

cdef extern from *:
    """
    #include <limits.h>   /* a C library header, which includes the library version */

    #define PIPELINE_TEXT_OF(x) #x
    #define PIPELINE_TEXT(x) PIPELINE_TEXT_OF(x)
    #define PIPELINE_THREE(a, b, c) PIPELINE_TEXT(a) "." PIPELINE_TEXT(b) "." PIPELINE_TEXT(c)

    #if defined(__clang__)
    #define PIPELINE_COMPILER "clang " PIPELINE_THREE(__clang_major__, __clang_minor__, __clang_patchlevel__)
    #elif defined(__GNUC__)
    #define PIPELINE_COMPILER "gcc " PIPELINE_THREE(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__)
    #else
    #define PIPELINE_COMPILER "unknown"
    #endif

    #ifdef __GLIBC__
    #define PIPELINE_LIBC "glibc " PIPELINE_TEXT(__GLIBC__) "." PIPELINE_TEXT(__GLIBC_MINOR__)
    #else
    #define PIPELINE_LIBC "not glibc"
    #endif

    #ifdef __SSE2__
    #define PIPELINE_SIMD "SSE2"
    #else
    #define PIPELINE_SIMD ""
    #endif
    """
    const char* COMPILER "PIPELINE_COMPILER"
    const char* LIBC "PIPELINE_LIBC"
    const char* SIMD "PIPELINE_SIMD"
    const char* NUMPY "PIPELINE_NUMPY"      # from setup.py
    long STANDARD "__cplusplus"
    unsigned long CYTHON "CYTHON_HEX_VERSION"
