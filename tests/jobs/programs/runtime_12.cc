// A program for CUDA 12, compiled with the headers of that release: it calls functions that changed
// with CUDA 13, as CUDA 12 defines them, and prints "done" if all results are right.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static_assert(CUDART_VERSION >= 12080 && CUDART_VERSION < 13000,
              "the headers of CUDA 12.8 or 12.9");

namespace {

void Check(bool right, int line, const char* what) {
  if (right) return;
  fprintf(stderr, "line %d: %s is not so\n", line, what);
  exit(1);
}
#define CHECK(condition) Check(condition, __LINE__, #condition)
#define RUN(call) Check((call) == cudaSuccess, __LINE__, #call)

void Properties() {
  cudaDeviceProp properties;
  memset(&properties, 0x5a, sizeof properties);
  RUN(cudaGetDeviceProperties(&properties, 0));
  int value = 0;
  CHECK(strstr(properties.name, "H200") != nullptr);
  CHECK(properties.major == 9 && properties.minor == 0 && properties.warpSize == 32);
  RUN(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
  CHECK(properties.clockRate == value && value > 0);
  RUN(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  CHECK(properties.multiProcessorCount == value);
  RUN(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryClockRate, 0));
  CHECK(properties.memoryClockRate == value && value > 0);
  RUN(cudaDeviceGetAttribute(&value, cudaDevAttrMaxTexture1DLinearWidth, 0));
  CHECK(properties.maxTexture1DLinear == value);
  RUN(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
  CHECK(properties.memoryPoolsSupported == value);
  CHECK(properties.reserved[62] == 0);
  int version = 0;
  RUN(cudaRuntimeGetVersion(&version));
  CHECK(version == 12080);
}

void ManagedMemory() {
  void* memory = nullptr;
  RUN(cudaMallocManaged(&memory, 1 << 20));
  RUN(cudaMemAdvise(memory, 1 << 20, cudaMemAdviseSetPreferredLocation, 0));
  RUN(cudaMemPrefetchAsync(memory, 1 << 20, 0, nullptr));
  RUN(cudaMemPrefetchAsync(memory, 1 << 20, cudaCpuDeviceId, nullptr));
  cudaMemLocation location = {};
  location.type = cudaMemLocationTypeDevice;
  RUN(cudaMemAdvise_v2(memory, 1 << 20, cudaMemAdviseSetReadMostly, location));
  // The structure is longer in CUDA 13. The call must not write behind the structure as CUDA 12
  // defines it.
  struct {
    cudaPointerAttributes attributes;
    unsigned char behind[128];
  } guarded;
  memset(&guarded, 0x5a, sizeof guarded);
  RUN(cudaPointerGetAttributes(&guarded.attributes, memory));
  CHECK(guarded.attributes.type == cudaMemoryTypeManaged);
  for (unsigned char byte : guarded.behind) CHECK(byte == 0x5a);
  RUN(cudaDeviceSynchronize());
  RUN(cudaFree(memory));
}

void Capture() {
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
  RUN(cudaStreamCreate(&stream));
  RUN(cudaMalloc(&memory, 256));
  RUN(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  RUN(cudaMemsetAsync(memory, 1, 256, stream));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* fronts = nullptr;
  size_t count = 0;
  RUN(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &fronts, &count));
  CHECK(status == cudaStreamCaptureStatusActive && graph != nullptr && count == 1);
  cudaGraphNode_t before = fronts[0];
  cudaGraphNode_t empty = nullptr;
  RUN(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
  RUN(cudaGraphAddDependencies(graph, &before, &empty, 1));
  RUN(cudaStreamUpdateCaptureDependencies(stream, &empty, 1, cudaStreamSetCaptureDependencies));
  RUN(cudaMemsetAsync(memory, 2, 128, stream));
  RUN(cudaStreamEndCapture(stream, &graph));
  cudaGraphNode_t from[4];
  cudaGraphNode_t to[4];
  count = 4;
  RUN(cudaGraphGetEdges(graph, from, to, &count));
  CHECK(count == 2);
  count = 4;
  RUN(cudaGraphNodeGetDependencies(empty, from, &count));
  CHECK(count == 1 && from[0] == before);
  cudaGraphExec_t launchable = nullptr;
  RUN(cudaGraphInstantiate(&launchable, graph, 0));
  RUN(cudaGraphLaunch(launchable, stream));
  RUN(cudaStreamSynchronize(stream));
  unsigned char bytes[256];
  RUN(cudaMemcpy(bytes, memory, 256, cudaMemcpyDeviceToHost));
  CHECK(bytes[0] == 2 && bytes[127] == 2 && bytes[128] == 1 && bytes[255] == 1);
  RUN(cudaGraphExecDestroy(launchable));
  RUN(cudaGraphDestroy(graph));
  RUN(cudaFree(memory));
  RUN(cudaStreamDestroy(stream));
}

void EntryPoints() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  RUN(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, &found));
  CHECK(found == cudaDriverEntryPointSuccess && function != nullptr);
  RUN(cudaGetDriverEntryPointByVersion("cuMemCreate", &function, 12000, cudaEnableDefault, &found));
  CHECK(found == cudaDriverEntryPointSuccess);
}

void Timing() {
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  float milliseconds = -1;
  RUN(cudaEventCreate(&start));
  RUN(cudaEventCreate(&end));
  RUN(cudaEventRecord(start));
  RUN(cudaEventRecord(end));
  RUN(cudaEventSynchronize(end));
  RUN(cudaEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds >= 0);
  RUN(cudaEventDestroy(start));
  RUN(cudaEventDestroy(end));
}

}  // namespace

int main() {
  Properties();
  ManagedMemory();
  Capture();
  EntryPoints();
  Timing();
  puts("done");
}
