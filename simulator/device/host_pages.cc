#include "simulator/device/host_pages.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace vramstow::simulator {
namespace {

constexpr uint64_t kEntriesAtOnce = 4096;

// Bits of an entry of /proc/self/pagemap.
constexpr uint64_t kPresent = 1ull << 63;
constexpr uint64_t kSwapped = 1ull << 62;
constexpr uint64_t kExclusive = 1ull << 56;

uint64_t ToNumber(const char* address) { return reinterpret_cast<uintptr_t>(address); }

// Reading a fresh page maps a page of zeros that all processes share, whereas writing would
// allocate a page. So bytes that are zero already are not written.
void WriteZeros(char* to, uint64_t size) {
  while (size > 0) {
    const uint64_t piece = std::min(size, kSmallPage - ToNumber(to) % kSmallPage);
    if (!IsZero(to, piece)) memset(to, 0, piece);
    to += piece;
    size -= piece;
  }
}

// A page that was only read is the shared page of zeros, so the kernel does not report it as
// exclusive to this process. After a fork a written page is not exclusive either, so the bytes of
// such a page are compared with zeros.
bool IsWritten(uint64_t entry, const char* page) {
  if ((entry & kSwapped) != 0) return true;
  if ((entry & kPresent) == 0) return false;
  return (entry & kExclusive) != 0 || !IsZero(page, kSmallPage);
}

// Appends `size` bytes to the runs, and merges neighbours of the same kind.
void Append(std::vector<HostRun>* runs, uint64_t size, bool is_written) {
  if (!runs->empty() && runs->back().is_written == is_written) {
    runs->back().size += size;
    return;
  }
  const uint64_t offset = runs->empty() ? 0 : runs->back().offset + runs->back().size;
  runs->push_back({offset, size, is_written});
}

}  // namespace

bool IsZero(const char* bytes, uint64_t size) {
  return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

void ZeroHost(char* to, uint64_t size, HostOwner owner) {
  const uint64_t head = std::min(size, (kSmallPage - ToNumber(to) % kSmallPage) % kSmallPage);
  const uint64_t pages = (size - head) & ~(kSmallPage - 1);
  // madvise fails for locked pages, which cannot be returned to the kernel; they are filled
  // instead.
  if (owner == HostOwner::kProgram || pages == 0 || madvise(to + head, pages, MADV_DONTNEED) != 0) {
    return WriteZeros(to, size);
  }
  WriteZeros(to, head);
  WriteZeros(to + head + pages, size - head - pages);
}

std::vector<HostRun> FindHostRuns(const char* from, uint64_t size) {
  std::vector<HostRun> runs;
  static const bool has_small_pages = sysconf(_SC_PAGESIZE) == long{kSmallPage};
  const int map = has_small_pages ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
  std::vector<uint64_t> entries(map < 0 ? 0 : std::min(kEntriesAtOnce, size / kSmallPage + 2));
  uint64_t done = 0;
  while (done < size && map >= 0) {
    const uint64_t page = (ToNumber(from) + done) / kSmallPage;
    const uint64_t last = (ToNumber(from) + size - 1) / kSmallPage;
    const uint64_t wanted = std::min<uint64_t>(entries.size(), last - page + 1);
    const ssize_t got = pread(map, entries.data(), wanted * sizeof(uint64_t),
                              static_cast<off_t>(page * sizeof(uint64_t)));
    if (got < static_cast<ssize_t>(sizeof(uint64_t))) break;
    for (uint64_t i = 0; i < static_cast<uint64_t>(got) / sizeof(uint64_t); ++i) {
      const char* bytes = from + done - (ToNumber(from) + done) % kSmallPage;
      const uint64_t stop = std::min<uint64_t>(size, bytes + kSmallPage - from);
      Append(&runs, stop - done, IsWritten(entries[i], bytes));
      done = stop;
    }
  }
  if (map >= 0) close(map);
  if (done < size) Append(&runs, size - done, true);
  return runs;
}

}  // namespace vramstow::simulator
