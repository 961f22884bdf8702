// A library to preload: the n-th allocation of the core, thread it creates, or system call on a file of a folder fails.
// Linux with glibc only. Controlled from Python by ctypes (faults.py).
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

enum What { nothing, allocations, threads, calls };

// Addresses of the code of the core, and of the C++ library, which allocates and creates threads for it.
std::uintptr_t core_begin, core_end, library_begin, library_end;
char folder[4096];
std::atomic<int> what{nothing};
std::atomic<long> count{0}, target{0};
int failure = 0;  // errno; 0: reads and writes are short

bool is_in(const void* address, std::uintptr_t begin, std::uintptr_t end) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  return begin <= place && place < end;
}

bool is_of_core(const void* caller) {
  if (is_in(caller, core_begin, core_end)) return true;
  if (!is_in(caller, library_begin, library_end)) return false;
  void* frames[16];
  const int n = backtrace(frames, 16);
  for (int k = 0; k < n; ++k) {
    if (is_in(frames[k], core_begin, core_end)) return true;
  }
  return false;
}

bool strikes() { return count.fetch_add(1) + 1 == target.load(); }

bool allocation_fails(const void* caller) { return what.load() == allocations && is_of_core(caller) && strikes(); }

bool is_inside(const char* path) {
  const std::size_t n = std::strlen(folder);
  return path && std::strncmp(path, folder, n) == 0;
}

bool is_inside(int descriptor) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  if (n <= 0) return false;
  path[n] = 0;
  return is_inside(path);
}

template <class File>
bool call_fails(File file) {
  if (what.load() != calls || failure == 0 || !is_inside(file) || !strikes()) return false;
  errno = failure;
  return true;
}

// Reads and writes can also be short.
enum class Fate { whole, partial, error };
Fate transfer_fate(int descriptor, std::size_t n) {
  if (what.load() != calls || (failure == 0 && n < 2) || !is_inside(descriptor) || !strikes()) return Fate::whole;
  errno = failure;
  return failure ? Fate::error : Fate::partial;
}

template <class F>
F* real(F*, const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) static auto* const call = real(&name, #name)

}  // namespace

extern "C" {

void faults_place(std::uintptr_t core0, std::uintptr_t core1, std::uintptr_t library0, std::uintptr_t library1,
                  const char* watched) {
  core_begin = core0;
  core_end = core1;
  library_begin = library0;
  library_end = library1;
  std::snprintf(folder, sizeof folder, "%s", watched);
  void* frames[4];
  backtrace(frames, 4);  // its first call allocates
}

void faults_arm(int new_what, long nth, int error) {
  count = 0;
  target = nth;
  failure = error;
  what = new_what;
}

// How many could have failed since it was armed.
long faults_disarm() {
  what = nothing;
  return count.load();
}

void* malloc(size_t n) {
  if (allocation_fails(__builtin_return_address(0))) return errno = ENOMEM, nullptr;
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t size) {
  if (allocation_fails(__builtin_return_address(0))) return errno = ENOMEM, nullptr;
  return __libc_calloc(n, size);
}
void* realloc(void* old, size_t n) {
  if (allocation_fails(__builtin_return_address(0))) return errno = ENOMEM, nullptr;
  return __libc_realloc(old, n);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  REAL(pthread_create);
  if (what.load() == threads && is_of_core(__builtin_return_address(0)) && strikes()) return EAGAIN;
  return call(thread, attributes, run, argument);
}

#define OPEN(name)                                          \
  int name(const char* path, int flags, ...) {              \
    REAL(name);                                             \
    va_list list;                                           \
    va_start(list, flags);                                  \
    const mode_t mode = va_arg(list, mode_t);               \
    va_end(list);                                           \
    return call_fails(path) ? -1 : call(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                               \
  int name(int place, const char* path, int flags, ...) {          \
    REAL(name);                                                    \
    va_list list;                                                  \
    va_start(list, flags);                                         \
    const mode_t mode = va_arg(list, mode_t);                      \
    va_end(list);                                                  \
    return call_fails(path) ? -1 : call(place, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

#define TRANSFER(name, pointer)                                 \
  ssize_t name(int file, pointer data, size_t n) {              \
    REAL(name);                                                 \
    const Fate fate = transfer_fate(file, n);                   \
    if (fate == Fate::error) return -1;                         \
    return call(file, data, fate == Fate::partial ? n / 2 : n); \
  }
TRANSFER(read, void*)
TRANSFER(write, const void*)

#define TRANSFER_AT(name, pointer, offset)                             \
  ssize_t name(int file, pointer data, size_t n, offset place) {       \
    REAL(name);                                                        \
    const Fate fate = transfer_fate(file, n);                          \
    if (fate == Fate::error) return -1;                                \
    return call(file, data, fate == Fate::partial ? n / 2 : n, place); \
  }
TRANSFER_AT(pread, void*, off_t)
TRANSFER_AT(pread64, void*, off64_t)
TRANSFER_AT(pwrite, const void*, off_t)
TRANSFER_AT(pwrite64, const void*, off64_t)

int fsync(int file) {
  REAL(fsync);
  return call_fails(file) ? -1 : call(file);
}
// As on a network file system: the file is closed, and what was written is lost.
int close(int file) {
  REAL(close);
  const bool fails = call_fails(file);
  const int error = errno, result = call(file);
  return fails ? errno = error, -1 : result;
}
int rename(const char* from, const char* to) {
  REAL(rename);
  return call_fails(from) ? -1 : call(from, to);
}
int unlink(const char* path) {
  REAL(unlink);
  return call_fails(path) ? -1 : call(path);
}
int ftruncate64(int file, off64_t n) {
  REAL(ftruncate64);
  return call_fails(file) ? -1 : call(file, n);
}
off64_t lseek64(int file, off64_t place, int from) {
  REAL(lseek64);
  return call_fails(file) ? -1 : call(file, place, from);
}
void* mmap64(void* address, size_t n, int protection, int flags, int file, off64_t place) {
  REAL(mmap64);
  return file >= 0 && call_fails(file) ? MAP_FAILED : call(address, n, protection, flags, file, place);
}

}  // extern "C"

namespace {
void* allocate(std::size_t n, std::size_t alignment, const void* caller) {
  if (allocation_fails(caller)) return nullptr;
  return alignment ? __libc_memalign(alignment, n) : __libc_malloc(n);
}
void* allocate_or_throw(std::size_t n, std::size_t alignment, const void* caller) {
  void* const memory = allocate(n, alignment, caller);
  if (!memory) throw std::bad_alloc();
  return memory;
}
}  // namespace

#define CALLER __builtin_return_address(0)
void* operator new(std::size_t n) { return allocate_or_throw(n, 0, CALLER); }
void* operator new[](std::size_t n) { return allocate_or_throw(n, 0, CALLER); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_or_throw(n, std::size_t(a), CALLER); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_or_throw(n, std::size_t(a), CALLER); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0, CALLER); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 0, CALLER); }
