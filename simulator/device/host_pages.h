// Pages of the host's memory that hold nothing: zeros that take no memory of this machine.
//
// Idea: much of what a rehearsal copies to the host was never computed and reads as zeros. Fresh
// pages read as zeros by themselves, so nothing is written into them, and pages that the driver
// made are given back in place of being filled. Whether somebody has written such a page since, the
// kernel says (/proc/self/pagemap). Where it does not, every page counts as written.
//
// Ownership: none. Threads: any; what another thread writes meanwhile may or may not be seen, as
// with a copy. Errors: none. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DEVICE_HOST_PAGES_H_
#define VRAMSTOW_SIMULATOR_DEVICE_HOST_PAGES_H_

#include <cstdint>
#include <vector>

namespace vramstow::simulator {

inline constexpr uint64_t kSmallPage = 4096;  // of the host

// The owner of memory. The driver's pages are private and have no file.
enum class HostOwner : uint8_t { kDriver, kProgram };

// Makes all of it zeros. Bytes of the program's memory are written only where they are something
// else.
void ZeroHost(char* to, uint64_t size, HostOwner owner);

bool IsZero(const char* bytes, uint64_t size);

// Neighbouring bytes of the driver's pages: written by somebody since they were given back, or not.
struct HostRun {
  uint64_t offset = 0;  // from the beginning of what was asked for
  uint64_t size = 0;
  bool is_written = true;
};
// All of [from, from + size), in order. Runs that are not written read as zeros.
std::vector<HostRun> FindHostRuns(const char* from, uint64_t size);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DEVICE_HOST_PAGES_H_
