#include "tracer/system_calls.h"

#include <fcntl.h>
#include <sys/mman.h>

namespace vramstow {
namespace {

int Allocate(int fd, off_t offset, off_t bytes) { return fallocate(fd, 0, offset, bytes); }

void* MapShared(void* address, size_t bytes, int fd, off_t offset) {
  const int flags = MAP_SHARED | (address != nullptr ? MAP_FIXED : 0);
  return mmap(address, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);
}

constexpr SystemCalls kRealCalls = {Allocate, pwritev, MapShared};
constinit SystemCalls g_calls = kRealCalls;

}  // namespace

const SystemCalls& RealSystemCalls() { return kRealCalls; }
const SystemCalls& CurrentSystemCalls() { return g_calls; }
void SetSystemCallsForTest(const SystemCalls& calls) { g_calls = calls; }

}  // namespace vramstow
