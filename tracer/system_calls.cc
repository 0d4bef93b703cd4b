#include "tracer/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

namespace vramstow {
namespace {

int Allocate(int fd, off_t offset, off_t bytes) { return fallocate(fd, 0, offset, bytes); }

void* MapShared(void* address, size_t bytes, int fd, off_t offset) {
  const int flags = MAP_SHARED | (address != nullptr ? MAP_FIXED : 0);
  return mmap(address, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);
}

int OpenUnnamed(const char* directory) {
  return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

// Gives a file without a name its name. It names the file through /proc, because only a privileged
// process may name a descriptor itself (open(2), O_TMPFILE).
int NameUnnamed(int fd, const char* path) {
  char link[32] = "/proc/self/fd/";
  char* out = link + sizeof "/proc/self/fd/" - 1;
  char digits[12];
  size_t count = 0;
  for (int rest = fd; count == 0 || rest > 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  while (count > 0) *out++ = digits[--count];
  if (linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) return 0;
  return errno == ENOENT ? linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH) : -1;
}

int Name(int fd, const char* part, const char* path) {
  if (part[0] == '\0') return NameUnnamed(fd, path);
  if (syscall(SYS_renameat2, AT_FDCWD, part, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return 0;
  if (errno == EEXIST) return -1;
  if (link(part, path) == 0) return unlink(part);
  if (errno == EEXIST) return -1;
  // The file system supports neither of the calls before. So an empty file of this name is created,
  // and the file is renamed onto it. For a moment the name refers to the empty file.
  const int place = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (place < 0) return -1;
  close(place);
  return rename(part, path);
}

int Barrier(int command) { return static_cast<int>(syscall(SYS_membarrier, command, 0)); }

constexpr SystemCalls kRealCalls = {Allocate, pwritev, MapShared, OpenUnnamed, Name, Barrier};
constinit SystemCalls g_calls = kRealCalls;

}  // namespace

const SystemCalls& RealSystemCalls() { return kRealCalls; }
const SystemCalls& CurrentSystemCalls() { return g_calls; }
void SetSystemCallsForTest(const SystemCalls& calls) { g_calls = calls; }

}  // namespace vramstow
