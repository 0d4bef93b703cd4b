// A table of the system calls of a recorder that may fail. A test can change the table to make them
// fail.
//
// Ownership: one table for the process. Threads: change it only while no recorder is open. Errors:
// as the calls themselves: -1 or MAP_FAILED, and errno. Units: as the calls themselves.
#ifndef VRAMSTOW_TRACER_SYSTEM_CALLS_H_
#define VRAMSTOW_TRACER_SYSTEM_CALLS_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

namespace vramstow {

struct SystemCalls {
  // Calls fallocate(fd, 0, offset, bytes).
  int (*allocate)(int fd, off_t offset, off_t bytes);
  ssize_t (*write_at)(int fd, const iovec* parts, int count, off_t offset);  // pwritev
  // Maps `bytes` bytes of the file at `offset`, shared, for reading and writing. If `address` is
  // not null, the mapping is made at that address.
  void* (*map_shared)(void* address, size_t bytes, int fd, off_t offset);
  // Opens a file without a name in the directory, for reading and writing; children do not inherit
  // it.
  int (*open_unnamed)(const char* directory);
  // Gives the file the name `path`, which must not exist yet. `part` is the file's present name, or
  // empty if the file has no name.
  int (*name)(int fd, const char* part, const char* path);
  int (*barrier)(int command);  // membarrier
};

const SystemCalls& RealSystemCalls();

// Returns the calls that the tracer uses: the real ones unless a test has set others.
const SystemCalls& CurrentSystemCalls();
void SetSystemCallsForTest(const SystemCalls& calls);

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_SYSTEM_CALLS_H_
