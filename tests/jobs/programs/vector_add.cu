// A plain CUDA program, as a beginner writes it: every kind of memory that the runtime hands out, a
// kernel launch, streams and events.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

__global__ void Add(const float* a, const float* b, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

int main() {
  constexpr int kCount = 1 << 20;
  constexpr size_t kBytes = kCount * sizeof(float);
  float *host = nullptr, *a = nullptr, *b = nullptr, *sum = nullptr, *managed = nullptr;
  CHECK(cudaMallocHost(&host, kBytes));
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i);
  CHECK(cudaMalloc(&a, kBytes));
  CHECK(cudaMalloc(&b, kBytes));
  CHECK(cudaMalloc(&sum, kBytes));
  CHECK(cudaMallocManaged(&managed, kBytes));
  size_t pitch = 0;
  void* image = nullptr;
  CHECK(cudaMallocPitch(&image, &pitch, 1000, 100));

  cudaStream_t stream;
  cudaEvent_t done;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreate(&done));
  CHECK(cudaMemcpyAsync(a, host, kBytes, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemcpyAsync(b, a, kBytes, cudaMemcpyDeviceToDevice, stream));
  Add<<<kCount / 256, 256, 0, stream>>>(a, b, sum, kCount);
  CHECK(cudaGetLastError());
  void* ordered = nullptr;
  CHECK(cudaMallocAsync(&ordered, kBytes, stream));
  CHECK(cudaFreeAsync(ordered, stream));
  CHECK(cudaEventRecord(done, stream));
  CHECK(cudaEventSynchronize(done));
  std::memset(host, 0, kBytes);
  CHECK(cudaMemcpy(host, b, kBytes, cudaMemcpyDeviceToHost));
  if (host[12345] != 12345.0f) {
    std::fprintf(stderr, "the copy brought %g\n", static_cast<double>(host[12345]));
    return 1;
  }
  void* too_large = nullptr;
  if (cudaMalloc(&too_large, size_t{1} << 50) != cudaErrorMemoryAllocation) return 1;
  if (cudaGetLastError() != cudaErrorMemoryAllocation) return 1;

  CHECK(cudaFree(image));
  CHECK(cudaFree(managed));
  CHECK(cudaFree(sum));
  CHECK(cudaFree(b));
  CHECK(cudaFree(a));
  CHECK(cudaFree(nullptr));
  CHECK(cudaFreeHost(host));
  CHECK(cudaEventDestroy(done));
  CHECK(cudaStreamDestroy(stream));
  std::puts("done");
  return 0;
}
