// C library calls that fail for files below a folder, as on a full or broken disk. A test loads this file with LD_PRELOAD
// and chooses the failing call with fail_at(). The system clock, clock_gettime(), can be moved as well.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITE = 1, SYNC = 2, RENAME = 4, TRUNCATE = 8, CREATE = 16, CLOSE = 32, MKDIR = 64, UNLINK = 128, READ = 256, OPEN = 512 };
enum { ONCE, FROM_NOW_ON, SHORT };

static char folder[PATH_MAX];
static int kinds, how, number, count;
static long long moved, step;

void fail_at(const char *path, int which, int mode, int nth, int error) {
    snprintf(folder, sizeof folder, "%s", path);
    kinds = which, how = mode, number = error;
    __atomic_store_n(&count, nth, __ATOMIC_SEQ_CST);
}

// Returns whether a call has failed.
int fail_end(void) {
    kinds = 0;
    return __atomic_load_n(&count, __ATOMIC_SEQ_CST) <= 0;
}

// Sets the system clock off by `by` ns, and by `each` ns more at each reading.
void move_clock(long long by, long long each) { moved = by, step = each; }

static int below(const char *path) {
    size_t length = strlen(folder);
    return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static int fails(int kind) {
    if (!(kinds & kind)) return 0;
    int left = __atomic_sub_fetch(&count, 1, __ATOMIC_SEQ_CST);
    return left == 0 || (left < 0 && how == FROM_NOW_ON);
}

static int fails_for(int kind, const char *path) { return (kinds & kind) && below(path) && fails(kind); }

static int fails_of(int kind, int file) {
    char link[64], path[PATH_MAX];
    if (!(kinds & kind)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails_for(kind, path);
}

static int failure(void) {
    errno = number;
    return -1;
}

#define REAL(type, name, ...)                                 \
    static type (*real)(__VA_ARGS__);                         \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

// How much is done nevertheless: half, before a disk is full or in a short read or write; -1 for an error.
static ssize_t done_of(size_t size) {
    if (how == SHORT) return size > 1 ? size / 2 : size;
    return how == FROM_NOW_ON && count == 0 && size > 1 ? (ssize_t)size / 2 : -1;
}

ssize_t write(int file, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (!fails_of(WRITE, file)) return real(file, data, size);
    ssize_t some = done_of(size);
    return some >= 0 ? real(file, data, some) : failure();
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    if (!fails_of(WRITE, file)) return real(file, data, size, at);
    ssize_t some = done_of(size);
    return some >= 0 ? real(file, data, some, at) : failure();
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) { return pwrite(file, data, size, at); }

ssize_t read(int file, void *data, size_t size) {
    REAL(ssize_t, "read", int, void *, size_t);
    if (!fails_of(READ, file)) return real(file, data, size);
    ssize_t some = done_of(size);
    return some >= 0 ? real(file, data, some) : failure();
}
ssize_t pread(int file, void *data, size_t size, off_t at) {
    REAL(ssize_t, "pread", int, void *, size_t, off_t);
    if (!fails_of(READ, file)) return real(file, data, size, at);
    ssize_t some = done_of(size);
    return some >= 0 ? real(file, data, some, at) : failure();
}
ssize_t pread64(int file, void *data, size_t size, off64_t at) { return pread(file, data, size, at); }
// As Python calls it: one buffer, and no flags.
ssize_t preadv2(int file, const struct iovec *parts, int n, off_t at, int flags) {
    REAL(ssize_t, "preadv2", int, const struct iovec *, int, off_t, int);
    if (!fails_of(READ, file)) return real(file, parts, n, at, flags);
    ssize_t some = done_of(parts->iov_len);
    struct iovec part = {parts->iov_base, some};
    return some >= 0 ? real(file, &part, 1, at, flags) : failure();
}
ssize_t preadv64v2(int file, const struct iovec *parts, int n, off64_t at, int flags) {
    return preadv2(file, parts, n, at, flags);
}
ssize_t preadv(int file, const struct iovec *parts, int n, off_t at) { return preadv2(file, parts, n, at, 0); }
ssize_t preadv64(int file, const struct iovec *parts, int n, off64_t at) { return preadv2(file, parts, n, at, 0); }

int fsync(int file) {
    REAL(int, "fsync", int);
    return fails_of(SYNC, file) ? failure() : real(file);
}
int fdatasync(int file) {
    REAL(int, "fdatasync", int);
    return fails_of(SYNC, file) ? failure() : real(file);
}
int ftruncate(int file, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    return fails_of(TRUNCATE, file) ? failure() : real(file, size);
}
int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }

// The file is closed nevertheless, as on Linux.
int close(int file) {
    REAL(int, "close", int);
    int failed = fails_of(CLOSE, file), done = real(file);
    return failed ? failure() : done;
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    return fails_for(RENAME, to) ? failure() : real(from, to);
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    return fails_for(UNLINK, path) ? failure() : real(path);
}
int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    return fails_for(MKDIR, path) ? failure() : real(path, mode);
}

static int opening(const char *path, int flags) {
    return fails_for(flags & O_CREAT ? CREATE : OPEN, path);
}
int open(const char *path, int flags, ...) {
    REAL(int, "open", const char *, int, ...);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opening(path, flags) ? failure() : real(path, flags, mode);
}
int open64(const char *path, int flags, ...) {
    REAL(int, "open64", const char *, int, ...);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return opening(path, flags) ? failure() : real(path, flags, mode);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int done = real(clock, now);
    if (clock == CLOCK_REALTIME && (moved || step)) {
        long long ns = now->tv_sec * 1000000000LL + now->tv_nsec + __atomic_add_fetch(&moved, step, __ATOMIC_SEQ_CST);
        now->tv_sec = ns / 1000000000LL, now->tv_nsec = ns % 1000000000LL;
    }
    return done;
}
