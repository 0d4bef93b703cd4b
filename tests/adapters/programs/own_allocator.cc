// An allocator that a program may provide for torch.cuda.MemPool. It allocates from the CUDA
// runtime, and vramstow's pool serves the runtime's memory. So PyTorch's own allocator has tensors
// in blocks of vramstow's pool.
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
