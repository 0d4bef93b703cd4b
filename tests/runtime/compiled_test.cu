// A program as nvcc makes it, with the shared runtime: launches, symbols, managed variables. It is
// also built with --default-stream per-thread, which calls the runtime's other variants.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "simulator/simulator_api.h"

__device__ int device_value;
__constant__ float constant_table[16];
__managed__ int managed_value;

extern "C" __global__ void AddToEach(int* values, int count, int addend) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) {
    values[i] += addend;
  }
}

template <typename T>
__global__ void Nothing(T) {}

namespace {

// What AddToEach does, for a simulator, which runs no device code.
void AddToEachOnHost(const vramstowSimulatorLaunch* launch) {
  auto translate = reinterpret_cast<decltype(&vramstowSimulatorTranslate)>(launch->user);
  auto address = *static_cast<uint64_t*>(launch->parameters[0]);
  int count = *static_cast<int*>(launch->parameters[1]);
  int addend = *static_cast<int*>(launch->parameters[2]);
  auto* values = static_cast<int*>(translate(address, sizeof(int) * count, 1));
  for (int i = 0; values != nullptr && i < count; ++i) {
    values[i] += addend;
  }
}

// Makes the kernel visible where the driver is a simulated one.
void RegisterKernel() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(driver, nullptr);
  auto add = reinterpret_cast<decltype(&vramstowSimulatorRegisterKernel)>(
      dlsym(driver, "vramstowSimulatorRegisterKernel"));
  if (add != nullptr) {
    const size_t sizes[] = {sizeof(int*), sizeof(int), sizeof(int)};
    ASSERT_EQ(add("AddToEach", AddToEachOnHost, sizes, 3, 1000,
                  dlsym(driver, "vramstowSimulatorTranslate")),
              0);
  }
}

TEST(Compiled, KernelsGetTheirArguments) {
  RegisterKernel();
  constexpr int kCount = 1000;
  int host[kCount] = {};
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, sizeof(host)), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice), cudaSuccess);
  AddToEach<<<(kCount + 255) / 256, 256>>>(device, kCount, 7);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  void* arguments[] = {&device, const_cast<int*>(&kCount), const_cast<int*>(&kCount)};
  ASSERT_EQ(cudaLaunchKernel(AddToEach, dim3(4), dim3(256), arguments, 0, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost), cudaSuccess);
  for (int value : host) {
    ASSERT_EQ(value, 7 + kCount);
  }
  ASSERT_EQ(cudaFree(device), cudaSuccess);
}

TEST(Compiled, KernelsCanBeCapturedAndReplayed) {
  RegisterKernel();
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  int host = 0;
  int* device = nullptr;
  ASSERT_EQ(cudaMalloc(&device, sizeof(host)), cudaSuccess);
  ASSERT_EQ(cudaMemset(device, 0, sizeof(host)), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  AddToEach<<<1, 32, 0, stream>>>(device, 1, 5);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(&host, device, sizeof(host), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(host, 15);
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST(Compiled, KernelsOfWrongShapeAreInvalidConfigurations) {
  Nothing<<<1, 4096>>>(1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  Nothing<<<0, 32>>>(1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
  Nothing<<<1, 32>>>(1.0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(Compiled, KernelsHaveAttributesAndOccupancy) {
  cudaFuncAttributes attributes;
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, AddToEach), cudaSuccess);
  EXPECT_GE(attributes.maxThreadsPerBlock, 32);
  int blocks = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, AddToEach, 256, 0), cudaSuccess);
  EXPECT_GE(blocks, 1);
  EXPECT_EQ(cudaFuncSetAttribute(AddToEach, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536),
            cudaSuccess);
  const char* name = nullptr;
  ASSERT_EQ(cudaFuncGetName(&name, reinterpret_cast<const void*>(AddToEach)), cudaSuccess);
  EXPECT_STREQ(name, "AddToEach");
}

TEST(Compiled, KernelHandlesLaunchLikeFunctions) {
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(cudaGetKernel(&kernel, reinterpret_cast<const void*>(AddToEach)), cudaSuccess);
  int* none = nullptr;
  int zero = 0;
  void* arguments[] = {&none, &zero, &zero};
  EXPECT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(1), arguments, 0,
                             nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Compiled, ExtendedLaunchesTakeAttributes) {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2);
  config.blockDim = dim3(32);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributePriority;
  attribute.val.priority = 0;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int* none = nullptr;
  EXPECT_EQ(cudaLaunchKernelEx(&config, AddToEach, none, 0, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Compiled, SymbolsHaveAddressesAndSizes) {
  void* address = nullptr;
  size_t size = 0;
  ASSERT_EQ(cudaGetSymbolAddress(&address, device_value), cudaSuccess);
  ASSERT_EQ(cudaGetSymbolSize(&size, device_value), cudaSuccess);
  EXPECT_NE(address, nullptr);
  EXPECT_EQ(size, sizeof(int));
  ASSERT_EQ(cudaGetSymbolSize(&size, constant_table), cudaSuccess);
  EXPECT_EQ(size, sizeof(float) * 16);
}

TEST(Compiled, SymbolsKeepWhatIsCopiedIntoThem) {
  int value = 42;
  ASSERT_EQ(cudaMemcpyToSymbol(device_value, &value, sizeof(value)), cudaSuccess);
  value = 0;
  ASSERT_EQ(cudaMemcpyFromSymbol(&value, device_value, sizeof(value)), cudaSuccess);
  EXPECT_EQ(value, 42);
  EXPECT_EQ(cudaMemcpyToSymbol(device_value, &value, 4, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(device_value, &value, 4, 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
}

TEST(Compiled, ManagedVariablesAreUsedByTheHost) {
  managed_value = 11;
  managed_value += 1;
  EXPECT_EQ(managed_value, 12);
  void* address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&address, managed_value), cudaSuccess);
  EXPECT_EQ(address, &managed_value);
}

}  // namespace
