// The system calls by which a recorder can fail, as a table, so that a test can let them fail.
//
// Ownership: one table for the process. Threads: change it only while no recorder is open. Errors:
// as the calls themselves: -1 or MAP_FAILED, and errno.
#ifndef VRAMSTOW_TRACER_SYSTEM_CALLS_H_
#define VRAMSTOW_TRACER_SYSTEM_CALLS_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

namespace vramstow {

struct SystemCalls {
  // fallocate(fd, 0, offset, bytes)
  int (*allocate)(int fd, off_t offset, off_t bytes);
  ssize_t (*write_at)(int fd, const iovec* parts, int count, off_t offset);  // pwritev
  // mmap of `bytes` at `offset`, shared, to read and write; at `address` if that is not null.
  void* (*map_shared)(void* address, size_t bytes, int fd, off_t offset);
  // A file in the directory that has no name, to read and write; not inherited.
  int (*open_unnamed)(const char* directory);
  // Gives the file the name `path`, which must not exist. `part` is the name that it has, or empty.
  int (*name)(int fd, const char* part, const char* path);
  int (*barrier)(int command);  // membarrier
};

const SystemCalls& RealSystemCalls();

// What the tracer uses: the real ones unless a test has set others.
const SystemCalls& CurrentSystemCalls();
void SetSystemCallsForTest(const SystemCalls& calls);

}  // namespace vramstow

#endif  // VRAMSTOW_TRACER_SYSTEM_CALLS_H_
