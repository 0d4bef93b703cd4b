// Tests registered kernels, and races that become visible in the data.
#include <dlfcn.h>
#include <stdio.h>

#include "simulator/simulator_api.h"
#include "tests/simulator/own/child.h"

namespace vramstow::simulator {
namespace {

struct Api {
  decltype(&vramstowSimulatorRegisterKernel) register_kernel;
  decltype(&vramstowSimulatorTranslate) translate;
};

Api FindApi(const Driver& driver) {
  return {reinterpret_cast<decltype(Api::register_kernel)>(
              dlsym(driver.library, "vramstowSimulatorRegisterKernel")),
          reinterpret_cast<decltype(Api::translate)>(
              dlsym(driver.library, "vramstowSimulatorTranslate"))};
}

Api g_api;  // functions of the running child

// The kernel fill(address, count, value), which fills bytes.
void FillKernel(const vramstowSimulatorLaunch* launch) {
  const auto address = *static_cast<CUdeviceptr*>(launch->parameters[0]);
  const auto count = *static_cast<unsigned*>(launch->parameters[1]);
  const auto value = *static_cast<unsigned char*>(launch->parameters[2]);
  auto* bytes = static_cast<unsigned char*>(g_api.translate(address, count, 1));
  if (bytes == nullptr) return;
  for (unsigned i = 0; i < count; ++i) bytes[i] = value;
}

// A fat binary without members: a kernel of any name exists in it.
constexpr char kEmptyImage[] = "\x50\xed\x55\xba\x01\x00\x10\x00\0\0\0\0\0\0\0";

bool LaunchFill(const Driver& driver, CUdeviceptr address, unsigned count, unsigned char value,
                CUstream stream) {
  static CUlibrary library = nullptr;
  static CUkernel kernel = nullptr;
  if (kernel == nullptr) {
    static constexpr size_t kSizes[] = {8, 4, 1};
    g_api = FindApi(driver);
    g_api.register_kernel("fill", FillKernel, kSizes, 3, 10000, nullptr);
    driver.cuLibraryLoadData(&library, kEmptyImage, nullptr, nullptr, 0, nullptr, nullptr, 0);
    driver.cuLibraryGetKernel(&kernel, library, "fill");
  }
  void* parameters[] = {&address, &count, &value};
  return driver.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, stream,
                               parameters, nullptr) == CUDA_SUCCESS;
}

TEST(EmulationTest, RegisteredKernelRunsInStreamOrderOnCopiedArguments) {
  EXPECT_EQ(
      0, InChild("a100,memory=1GiB", [] {
        const Driver& driver = GetDriver();
        CHECK_IN_CHILD(StartDriver(driver));
        CUdeviceptr block = 0;
        CUstream stream = nullptr;
        CHECK_IN_CHILD(driver.cuMemAlloc(&block, 4096) == CUDA_SUCCESS);
        CHECK_IN_CHILD(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
        for (unsigned char value = 1; value < 40; ++value) {
          CHECK_IN_CHILD(LaunchFill(driver, block, 4096, value, stream));
        }
        CHECK_IN_CHILD(driver.cuStreamSynchronize(stream) == CUDA_SUCCESS);
        unsigned char read = 0;
        CHECK_IN_CHILD(driver.cuMemcpyDtoH(&read, block + 4095, 1) == CUDA_SUCCESS);
        CHECK_IN_CHILD(read == 39);
        return 0;
      }));
}

TEST(EmulationTest, KernelInAGraphKeepsTheArgumentsOfItsCapture) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUdeviceptr block = 0;
              CUstream stream = nullptr;
              CUgraph graph = nullptr;
              CUgraphExec executable = nullptr;
              driver.cuMemAlloc(&block, 4096);
              driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
              driver.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
              CHECK_IN_CHILD(LaunchFill(driver, block, 4096, 88, stream));
              CHECK_IN_CHILD(driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuGraphInstantiate(&executable, graph, 0) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuGraphLaunch(executable, stream) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuStreamSynchronize(stream) == CUDA_SUCCESS);
              unsigned char read = 0;
              driver.cuMemcpyDtoH(&read, block, 1);
              CHECK_IN_CHILD(read == 88);
              return 0;
            }));
}

// Uses one block in two streams: `fill` in the first, a copy out of it in the second, with or
// without an event between them. Returns 1 if the copy read what the kernel wrote, else 0.
int RaceOnce(bool with_event) {
  const Driver& driver = GetDriver();
  if (!StartDriver(driver)) return 9;
  CUdeviceptr block = 0;
  CUdeviceptr copy = 0;
  CUstream first = nullptr;
  CUstream second = nullptr;
  CUevent event = nullptr;
  driver.cuMemAlloc(&block, 4096);
  driver.cuMemAlloc(&copy, 4096);
  driver.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
  driver.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
  driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  if (!LaunchFill(driver, block, 4096, 1, first)) return 9;
  driver.cuEventRecord(event, first);
  if (with_event) driver.cuStreamWaitEvent(second, event, 0);
  // There is so much work before the copy that the copy may run before or after the kernel.
  for (int i = 0; i < 4; ++i) driver.cuMemsetD8Async(copy, 9, 4096, second);
  driver.cuMemcpyDtoDAsync(copy, block, 4096, second);
  driver.cuCtxSynchronize();
  unsigned char read = 0;
  driver.cuMemcpyDtoH(&read, copy, 1);
  return read == 1 ? 1 : 0;
}

TEST(RaceTest, MissingEventWaitShowsUnderSomeSeed) {
  int right = 0;
  int wrong = 0;
  for (int seed = 1; seed <= 60; ++seed) {
    const int seen =
        InChild("a100,memory=1GiB,seed=" + std::to_string(seed), [] { return RaceOnce(false); });
    right += seen == 1;
    wrong += seen == 0;
  }
  EXPECT_EQ(60, right + wrong);
  EXPECT_GT(wrong, 0);
  EXPECT_GT(right, 0) << "and under others it goes well";
}

TEST(RaceTest, EventWaitIsRightUnderEverySeed) {
  for (int seed = 1; seed <= 60; ++seed) {
    EXPECT_EQ(
        1, InChild("a100,memory=1GiB,seed=" + std::to_string(seed), [] { return RaceOnce(true); }))
        << seed;
  }
}

TEST(RaceTest, AdversarialOrderNeverFinishesUnaskedWork) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,order=adversarial",
                       [] { return RaceOnce(false) == 9 ? 1 : 0; }));
  EXPECT_EQ(1, InChild("a100,memory=1GiB,order=adversarial", [] { return RaceOnce(true); }));
  EXPECT_EQ(0, InChild("a100,memory=1GiB,order=adversarial", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUdeviceptr block = 0;
              CUstream first = nullptr;
              CUstream second = nullptr;
              driver.cuMemAlloc(&block, 4096);
              driver.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING);
              driver.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING);
              driver.cuMemsetD8Async(block, 1, 16, first);
              driver.cuMemsetD8Async(block + 16, 1, 16, second);
              CHECK_IN_CHILD(driver.cuStreamSynchronize(first) == CUDA_SUCCESS);
              CHECK_IN_CHILD(driver.cuStreamQuery(second) == CUDA_ERROR_NOT_READY);
              for (int i = 0; i < 1000; ++i) {
                if (driver.cuStreamQuery(second) == CUDA_SUCCESS) return 0;
              }
              return 1;  // polling must end
            }));
}

TEST(RaceTest, PinnedSourceIsReadWhenTheCopyRuns) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,order=adversarial", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              void* host = nullptr;
              CUdeviceptr block = 0;
              CUstream stream = nullptr;
              driver.cuMemHostAlloc(&host, 64, 0);
              driver.cuMemAlloc(&block, 64);
              driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
              *static_cast<char*>(host) = 1;
              driver.cuMemcpyHtoDAsync(block, host, 64, stream);
              *static_cast<char*>(host) = 2;  // too early: the copy has not run
              CHECK_IN_CHILD(driver.cuStreamSynchronize(stream) == CUDA_SUCCESS);
              char read = 0;
              driver.cuMemcpyDtoH(&read, block, 1);
              CHECK_IN_CHILD(read == 2);
              return 0;
            }));
}

TEST(EmulationTest, KernelTimeIsTheTimeOfAnUnknownKernel) {
  EXPECT_EQ(0, InChild("a100,memory=1GiB,kernel-time=2ms", [] {
              const Driver& driver = GetDriver();
              CHECK_IN_CHILD(StartDriver(driver));
              CUlibrary library = nullptr;
              CUkernel kernel = nullptr;
              CUevent start = nullptr;
              CUevent end = nullptr;
              driver.cuLibraryLoadData(&library, kEmptyImage, nullptr, nullptr, 0, nullptr, nullptr,
                                       0);
              driver.cuLibraryGetKernel(&kernel, library, "unknown");
              driver.cuEventCreate(&start, 0);
              driver.cuEventCreate(&end, 0);
              driver.cuEventRecord(start, nullptr);
              driver.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0,
                                    nullptr, nullptr, nullptr);
              driver.cuEventRecord(end, nullptr);
              driver.cuEventSynchronize(end);
              float time = 0;
              CHECK_IN_CHILD(driver.cuEventElapsedTime(&time, start, end) == CUDA_SUCCESS);
              CHECK_IN_CHILD(time > 1.9f && time < 2.1f);
              return 0;
            }));
}

}  // namespace
}  // namespace vramstow::simulator
