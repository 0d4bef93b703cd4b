// Handles host pages that read as zeros and occupy no memory of this machine.
//
// Idea: much of what a simulated run copies to the host was never computed and reads as zeros.
// Fresh pages read as zeros anyway, so nothing is written into them, and pages that the driver
// allocated are returned to the kernel instead of being filled. The kernel reports
// (/proc/self/pagemap) whether such a page has been written since. If the kernel does not report
// it, every page counts as written.
//
// Ownership: owns no memory. Threads: any; a concurrent write of another thread may or may not be
// seen, as with a copy. Errors: none. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_HOST_PAGES_H_
#define VRAMSTOW_SIMULATOR_DEVICE_HOST_PAGES_H_

#include <cstdint>
#include <vector>

namespace vramstow::simulator {

inline constexpr uint64_t kSmallPage = 4096;  // size of a host page

// The owner of host memory: the driver or the program. The driver's pages are private and have no
// file.
enum class HostOwner : uint8_t { kDriver, kProgram };

// Makes all bytes zero. Bytes of the program's memory are written only where they are not zero
// already.
void ZeroHost(char* to, uint64_t size, HostOwner owner);

bool IsZero(const char* bytes, uint64_t size);

// A run of bytes in pages of the driver that were all written, or all not written, since the pages
// were last returned to the kernel.
struct HostRun {
  uint64_t offset = 0;  // from the beginning of the requested range
  uint64_t size = 0;
  bool is_written = true;
};
// Returns the runs that cover [from, from + size), in order. Runs that are not written read as
// zeros.
std::vector<HostRun> FindHostRuns(const char* from, uint64_t size);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_HOST_PAGES_H_
