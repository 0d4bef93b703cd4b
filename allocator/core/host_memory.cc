#include "allocator/core/host_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include "base/rounding.h"

namespace vramstow {
namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;

// Maps memory that is aligned for huge pages and advises the kernel to use them. Records are looked
// up in random order, so with small pages most of the time would go to misses in the TLB (the cache
// of address translations).
void* Map(uint64_t size, int protection) {
  const int saved = errno;
  const uint64_t wanted = size + kHugePage;
  void* result = nullptr;
  void* base =
      mmap(nullptr, wanted, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base != MAP_FAILED) {
    const auto start = reinterpret_cast<uintptr_t>(base);
    const uintptr_t aligned = RoundUp(start, kHugePage);
    if (aligned > start) munmap(base, aligned - start);
    const uintptr_t end = aligned + RoundUp(size, 4096);
    if (start + wanted > end) munmap(reinterpret_cast<void*>(end), start + wanted - end);
    result = reinterpret_cast<void*>(aligned);
    if (size >= kHugePage) madvise(result, size, MADV_HUGEPAGE);
  }
  errno = saved;
  return result;
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
  munmap(base, RoundUp(size, 4096));
  errno = saved;
}

}  // namespace vramstow
