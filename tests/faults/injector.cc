#include "injector.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <new>

namespace trireme::faults {
namespace {

struct Injection {
  bool armed = false;
  Kind kind = Kind::call;
  long number = 0;
  Counted counted;
};
thread_local Injection injection;

thread_local bool called = false;  // the operating system, since arm()

bool fails(Kind kind, const char* name) {
  if (injection.armed && kind == Kind::call && !called) {
    called = true;
    injection.counted.before_first_call = injection.counted.count;
  }
  if (!injection.armed || kind != injection.kind) return false;
  if (++injection.counted.count != injection.number) return false;
  injection.counted.failed = name;
  return true;
}

// Whether this call fails; then errno is set.
bool fails(const char* name, int error) {
  if (!fails(Kind::call, name)) return false;
  errno = error;
  return true;
}

void* allocate(std::size_t size) noexcept {
  if (fails(Kind::allocation, "operator new")) return nullptr;
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate_or_throw(std::size_t size) {
  void* const memory = allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void arm(Kind kind, long number) {
  called = false;
  injection = {.armed = true, .kind = kind, .number = number, .counted = {}};
}

Counted disarm() {
  injection.armed = false;
  return injection.counted;
}

}  // namespace trireme::faults

namespace faults = trireme::faults;

void* operator new(std::size_t size) { return faults::allocate_or_throw(size); }
void* operator new[](std::size_t size) { return faults::allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return faults::allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return faults::allocate(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

// NOLINTBEGIN: the linker's names
extern "C" {

int __real_open(const char* path, int flags, ...);
int __wrap_open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return faults::fails("open", EMFILE) ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int folder, const char* path, int flags, ...);
int __wrap_openat(int folder, const char* path, int flags, ...) {
  return faults::fails("openat", EMFILE) ? -1 : __real_openat(folder, path, flags, 0);
}

ssize_t __real_read(int fd, void* to, size_t count);
ssize_t __wrap_read(int fd, void* to, size_t count) {
  return faults::fails("read", EIO) ? -1 : __real_read(fd, to, count);
}

ssize_t __real_pread(int fd, void* to, size_t count, off_t at);
ssize_t __wrap_pread(int fd, void* to, size_t count, off_t at) {
  return faults::fails("pread", EIO) ? -1 : __real_pread(fd, to, count, at);
}

// The disk is full after half of the bytes.
ssize_t __real_write(int fd, const void* from, size_t count);
ssize_t __wrap_write(int fd, const void* from, size_t count) {
  if (!faults::fails("write", ENOSPC)) return __real_write(fd, from, count);
  if (count > 1) (void)!__real_write(fd, from, count / 2);
  errno = ENOSPC;
  return -1;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd) { return faults::fails("fsync", EIO) ? -1 : __real_fsync(fd); }

int __real_rename(const char* from, const char* to);
int __wrap_rename(const char* from, const char* to) {
  return faults::fails("rename", EIO) ? -1 : __real_rename(from, to);
}

int __real_renameat2(int a, const char* from, int b, const char* to, unsigned flags);
int __wrap_renameat2(int a, const char* from, int b, const char* to, unsigned flags) {
  return faults::fails("renameat2", EIO) ? -1 : __real_renameat2(a, from, b, to, flags);
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation) {
  return faults::fails("flock", ENOLCK) ? -1 : __real_flock(fd, operation);
}

int __real_mkdir(const char* path, mode_t mode);
int __wrap_mkdir(const char* path, mode_t mode) {
  return faults::fails("mkdir", ENOSPC) ? -1 : __real_mkdir(path, mode);
}

int __real_linkat(int a, const char* from, int b, const char* to, int flags);
int __wrap_linkat(int a, const char* from, int b, const char* to, int flags) {
  return faults::fails("linkat", EMLINK) ? -1 : __real_linkat(a, from, b, to, flags);
}

void* __real_mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset);
void* __wrap_mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) {
  return faults::fails("mmap", ENOMEM) ? MAP_FAILED
                                       : __real_mmap(at, size, protection, flags, fd, offset);
}

int __real_fstat(int fd, struct stat* status);
int __wrap_fstat(int fd, struct stat* status) {
  return faults::fails("fstat", EIO) ? -1 : __real_fstat(fd, status);
}

int __real_memfd_create(const char* name, unsigned flags);
int __wrap_memfd_create(const char* name, unsigned flags) {
  return faults::fails("memfd_create", EMFILE) ? -1 : __real_memfd_create(name, flags);
}

// Tensors.
void* __real_aligned_alloc(size_t alignment, size_t size);
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  if (faults::fails(faults::Kind::allocation, "aligned_alloc")) return nullptr;
  return __real_aligned_alloc(alignment, size);
}

}  // extern "C"
// NOLINTEND
