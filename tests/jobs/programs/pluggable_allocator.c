// An allocator for PyTorch's CUDAPluggableAllocator: cudaMalloc and cudaFree, counted.
#include <stddef.h>
#include <sys/types.h>

int cudaMalloc(void** address, size_t size);
int cudaFree(void* address);

static long allocations;
static long frees;

void* CountingMalloc(ssize_t size, int device, void* stream) {
  (void)device;
  (void)stream;
  void* address = NULL;
  if (cudaMalloc(&address, (size_t)size) != 0) return NULL;
  __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
  return address;
}

void CountingFree(void* address, ssize_t size, int device, void* stream) {
  (void)size;
  (void)device;
  (void)stream;
  cudaFree(address);
  __atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
}

long CountOfAllocations(void) { return __atomic_load_n(&allocations, __ATOMIC_RELAXED); }
long CountOfFrees(void) { return __atomic_load_n(&frees, __ATOMIC_RELAXED); }
