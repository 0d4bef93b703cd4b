#include "allocator/host_memory.h"

#include <sys/mman.h>

#include <cerrno>

namespace vramstow {
namespace {

void* Map(uint64_t size, int protection) {
  const int saved = errno;
  void* base = mmap(nullptr, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  errno = saved;
  return base == MAP_FAILED ? nullptr : base;
}

}  // namespace

void* ReserveHostMemory(uint64_t size) { return Map(size, PROT_NONE); }

bool CommitHostMemory(void* base, uint64_t from, uint64_t to) {
  const int saved = errno;
  const bool ok = mprotect(static_cast<char*>(base) + from, to - from, PROT_READ | PROT_WRITE) == 0;
  errno = saved;
  return ok;
}

void* AllocateHostMemory(uint64_t size) { return Map(size, PROT_READ | PROT_WRITE); }

void FreeHostMemory(void* base, uint64_t size) {
  const int saved = errno;
  munmap(base, size);
  errno = saved;
}

}  // namespace vramstow
