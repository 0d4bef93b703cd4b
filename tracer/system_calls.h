// The system calls that may fail in a recorder, as a table, so that a test can make them fail.
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
  // Maps `bytes` at `offset`, shared, for reading and writing; at `address` if that is not null.
  void* (*map_shared)(void* address, size_t bytes, int fd, off_t offset);
  // Opens a file without a name in the directory, for reading and writing; children do not inherit
  // it.
  int (*open_unnamed)(const char* directory);
  // Gives the file the name `path`, which must not exist. `part` is the file's present name, or
  // empty if it has none.
  int (*name)(int fd, const char* part, const char* path);
  int (*barrier)(int command);  // membarrier
};

const SystemCalls& RealSystemCalls();

// Returns the calls that the tracer uses: the real ones unless a test has set others.
const SystemCalls& CurrentSystemCalls();
void SetSystemCallsForTest(const SystemCalls& calls);

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_SYSTEM_CALLS_H_
