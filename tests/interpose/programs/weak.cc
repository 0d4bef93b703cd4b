// A program with weak references to the driver, which uses the driver only if there is one. In the
// test there is none.
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
