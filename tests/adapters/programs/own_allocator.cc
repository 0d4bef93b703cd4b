// An allocator that a program may provide for torch.cuda.MemPool: it allocates from the CUDA
// runtime, whose memory the pool serves, so that PyTorch's own allocator has tensors in blocks of
// the pool.
#include <stddef.h>

extern "C" {
int cudaMalloc(void** address, size_t size);
int cudaFree(void* address);

int own_given = 0;
int own_taken_back = 0;

void* own_give(size_t size, int, void*) {
  void* address = nullptr;
  if (cudaMalloc(&address, size) != 0) return nullptr;
  ++own_given;
  return address;
}

void own_take_back(void* address, size_t, int, void*) {
  ++own_taken_back;
  cudaFree(address);
}
}
