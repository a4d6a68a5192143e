// A library to be loaded before the C library: the n-th call of one function fails with EIO, or with
// the error of number FAIL_ERRNO.
//   LD_PRELOAD=libfailing_calls.so FAIL_CALL=pread FAIL_NTH=3 PROGRAM
// Reads of files that are no regular ones, and writes to the standard streams, do not count.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long num_calls;

static int fails(const char* call) {
  const char* const chosen = getenv("FAIL_CALL");
  const char* const nth = getenv("FAIL_NTH");
  if (chosen == NULL || nth == NULL || strcmp(chosen, call) != 0) return 0;
  if (atomic_fetch_add(&num_calls, 1) + 1 != atol(nth)) return 0;
  const char* const number = getenv("FAIL_ERRNO");
  errno = number != NULL ? atoi(number) : EIO;
  return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pread(int fd, void* data, size_t bytes, off_t offset) {
  return fails("pread") ? -1 : NEXT(pread)(fd, data, bytes, offset);
}
ssize_t pread64(int fd, void* data, size_t bytes, off64_t offset) {
  return fails("pread") ? -1 : NEXT(pread64)(fd, data, bytes, offset);
}
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  return fails("pwrite") ? -1 : NEXT(pwrite)(fd, data, bytes, offset);
}
ssize_t write(int fd, const void* data, size_t bytes) {
  return fd > STDERR_FILENO && fails("write") ? -1 : NEXT(write)(fd, data, bytes);
}
int fsync(int fd) { return fails("fsync") ? -1 : NEXT(fsync)(fd); }
int fdatasync(int fd) { return fails("fdatasync") ? -1 : NEXT(fdatasync)(fd); }
int rename(const char* from, const char* to) {
  return fails("rename")
             ? -1
             : ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(from, to);
}
int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  return fails("fallocate") ? -1
                            : ((int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate"))(
                                  fd, mode, offset, bytes);
}
