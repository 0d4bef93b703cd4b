// A program that uses the driver only if it exists: it has weak references, and there is no driver.
#include "tests/interpose/programs/host.h"

#pragma weak cuInit
#pragma weak cuMemAlloc_v2

int main() {
  CUdeviceptr block = 0;
  const int init = &cuInit == nullptr ? -1 : static_cast<int>(cuInit(0));
  const int alloc = &cuMemAlloc_v2 == nullptr ? -1 : static_cast<int>(cuMemAlloc_v2(&block, 1));
  std::printf("%d %d\n", init, alloc);
  return 0;
}
