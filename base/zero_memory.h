// ZeroMemory: returns memory that is no longer needed to the kernel. A late thread may still read
// this memory.
//
// Idea: the whole pages in it read as zeros again, as at first, and use no physical memory until
// they are written again. Ownership: the caller's; private and anonymous memory. Threads: any.
// Errors: none; if the kernel refuses, the memory is unchanged. Units: bytes.
#ifndef VRAMSTOW_BASE_ZERO_MEMORY_H_
#define VRAMSTOW_BASE_ZERO_MEMORY_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/rounding.h"

namespace vramstow {

inline void MakeZero(const void* begin, const void* end) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t from = AlignUp(reinterpret_cast<uintptr_t>(begin), page);
  const uintptr_t to = reinterpret_cast<uintptr_t>(end) / page * page;
  if (from < to) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_ZERO_MEMORY_H_
