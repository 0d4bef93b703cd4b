// Tests streams, events, host functions and kernels.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

using StreamTest = ContractTest;
using EventTest = ContractTest;
using HostFunctionTest = ContractTest;
using KernelTest = ContractTest;

TEST_F(StreamTest, FlagsAndPriorityAreReadBack) {
  int least = 0;
  int greatest = 0;
  ASSERT_OK(driver_.cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_LT(greatest, least) << "a lower number is a higher priority";
  CUstream stream = nullptr;
  unsigned flags = 0;
  int priority = 0;
  ASSERT_OK(driver_.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 100));
  streams_.push_back(stream);
  ASSERT_OK(driver_.cuStreamGetFlags(stream, &flags));
  ASSERT_OK(driver_.cuStreamGetPriority(stream, &priority));
  EXPECT_EQ(static_cast<unsigned>(CU_STREAM_NON_BLOCKING), flags);
  EXPECT_EQ(greatest, priority) << "out of range is clamped";
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuStreamCreate(&stream, 1u << 10));
}

TEST_F(StreamTest, WorkIsPendingAfterTheCallAndPollingEnds) {
  const CUdeviceptr block = Allocate(256 * kMiB);
  CUstream stream = NewStream();
  EXPECT_OK(driver_.cuStreamQuery(stream));
  HeldStream held(stream);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, 256 * kMiB, stream));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuStreamQuery(stream));
  EXPECT_TRUE(held.LetGo());
  CUresult result = CUDA_ERROR_NOT_READY;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (result == CUDA_ERROR_NOT_READY && std::chrono::steady_clock::now() < limit) {
    result = driver_.cuStreamQuery(stream);
  }
  EXPECT_OK(result);
}

TEST_F(StreamTest, DestroyedStreamsAreRefusedAndTheirWorkEnds) {
  const CUdeviceptr block = Allocate(kMiB);
  CUstream stream = nullptr;
  ASSERT_OK(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(driver_.cuMemsetD8Async(block, 8, kMiB, stream));
  ASSERT_OK(driver_.cuStreamDestroy(stream));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(std::vector<unsigned char>(kMiB, 8), Read(block, kMiB));
}

TEST_F(StreamTest, LegacyStreamWaitsForBlockingStreams) {
  const CUdeviceptr from = Allocate(64 * kMiB);
  const CUdeviceptr to = Allocate(64 * kMiB);
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  ASSERT_OK(driver_.cuMemsetD8Async(from, 6, 64 * kMiB, blocking));
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(to, from, 64 * kMiB, CU_STREAM_LEGACY));
  ASSERT_OK(driver_.cuStreamSynchronize(CU_STREAM_LEGACY));
  EXPECT_EQ(std::vector<unsigned char>(16, 6), Read(to + 63 * kMiB, 16));
}

TEST_F(StreamTest, BlockingStreamsWaitForTheLegacyStream) {
  const CUdeviceptr from = Allocate(64 * kMiB);
  const CUdeviceptr to = Allocate(64 * kMiB);
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  ASSERT_OK(driver_.cuMemsetD8Async(from, 7, 64 * kMiB, nullptr));
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(to, from, 64 * kMiB, blocking));
  ASSERT_OK(driver_.cuStreamSynchronize(blocking));
  EXPECT_EQ(std::vector<unsigned char>(16, 7), Read(to + 63 * kMiB, 16));
}

TEST_F(StreamTest, PerThreadStreamIsAnotherForEachThread) {
  const CUdeviceptr block = Allocate(256 * kMiB);
  HeldStream held(CU_STREAM_PER_THREAD);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, 256 * kMiB, CU_STREAM_PER_THREAD));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuStreamQuery(CU_STREAM_PER_THREAD));
  std::thread([&] {
    ASSERT_OK(driver_.cuCtxSetCurrent(context_));
    EXPECT_OK(driver_.cuStreamQuery(CU_STREAM_PER_THREAD));
  }).join();
  EXPECT_TRUE(held.LetGo());
  EXPECT_OK(driver_.cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

TEST_F(StreamTest, ContextOfAStreamIsItsMakers) {
  CUcontext context = nullptr;
  ASSERT_OK(driver_.cuStreamGetCtx(NewStream(), &context));
  EXPECT_EQ(context_, context);
}

TEST_F(EventTest, UnrecordedEventIsComplete) {
  CUevent event = NewEvent();
  EXPECT_OK(driver_.cuEventQuery(event));
  EXPECT_OK(driver_.cuEventSynchronize(event));
  EXPECT_OK(driver_.cuStreamWaitEvent(NewStream(), event, 0));
}

TEST_F(EventTest, RecordedEventIsReadyWithTheWorkBeforeIt) {
  const CUdeviceptr block = Allocate(256 * kMiB);
  CUstream stream = NewStream();
  CUevent event = NewEvent();
  HeldStream held(stream);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, 256 * kMiB, stream));
  ASSERT_OK(driver_.cuEventRecord(event, stream));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuEventQuery(event));
  EXPECT_TRUE(held.LetGo());
  EXPECT_OK(driver_.cuEventSynchronize(event));
  EXPECT_OK(driver_.cuEventQuery(event));
}

TEST_F(EventTest, WaitOrdersTwoStreams) {
  const CUdeviceptr from = Allocate(128 * kMiB);
  const CUdeviceptr to = Allocate(128 * kMiB);
  CUstream producer = NewStream();
  CUstream consumer = NewStream();
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING);
  ASSERT_OK(driver_.cuMemsetD8Async(from, 4, 128 * kMiB, producer));
  ASSERT_OK(driver_.cuEventRecord(event, producer));
  ASSERT_OK(driver_.cuStreamWaitEvent(consumer, event, 0));
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(to, from, 128 * kMiB, consumer));
  ASSERT_OK(driver_.cuStreamSynchronize(consumer));
  EXPECT_EQ(std::vector<unsigned char>(16, 4), Read(to + 127 * kMiB, 16));
}

TEST_F(EventTest, WaitMeansTheRecordAtTheTimeOfTheCall) {
  const CUdeviceptr block = Allocate(256 * kMiB);
  CUstream first = NewStream();
  CUstream second = NewStream();
  CUevent event = NewEvent();
  ASSERT_OK(driver_.cuEventRecord(event, first));
  ASSERT_OK(driver_.cuStreamWaitEvent(second, event, 0));
  HeldStream held(first);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, 256 * kMiB, first));
  ASSERT_OK(driver_.cuEventRecord(event, first));  // does not change what `second` waits for
  ASSERT_OK(driver_.cuStreamSynchronize(second));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuEventQuery(event));
  EXPECT_TRUE(held.LetGo());
}

TEST_F(EventTest, ElapsedTimeIsThatOfTheWorkBetween) {
  const CUdeviceptr block = Allocate(256 * kMiB);
  CUstream stream = NewStream();
  CUevent start = NewEvent();
  CUevent end = NewEvent();
  float time = -1;
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuEventElapsedTime(&time, start, end))
      << "not recorded";
  {
    const HeldStream held(stream);
    ASSERT_OK(driver_.cuEventRecord(start, stream));
    ASSERT_OK(driver_.cuMemsetD8Async(block, 1, 256 * kMiB, stream));
    ASSERT_OK(driver_.cuEventRecord(end, stream));
    EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuEventElapsedTime(&time, start, end));
  }
  ASSERT_OK(driver_.cuEventSynchronize(end));
  ASSERT_OK(driver_.cuEventElapsedTime(&time, start, end));
  EXPECT_GT(time, 0.0f);
  EXPECT_LT(time, 1000.0f);
  CUevent untimed = NewEvent(CU_EVENT_DISABLE_TIMING);
  ASSERT_OK(driver_.cuEventRecord(untimed, stream));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuEventElapsedTime(&time, start, untimed));
}

TEST_F(EventTest, EventForOtherProcessesCannotTime) {
  CUevent event = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuEventCreate(&event, CU_EVENT_INTERPROCESS));
  EXPECT_OK(driver_.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  events_.push_back(event);
}

TEST_F(EventTest, ContextRecordCoversEveryStream) {
  const CUdeviceptr block = Allocate(512 * kMiB);
  CUstream first = NewStream();
  CUstream second = NewStream();
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING);
  HeldStream held(second);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, 256 * kMiB, first));
  ASSERT_OK(driver_.cuMemsetD8Async(block + 256 * kMiB, 1, 256 * kMiB, second));
  ASSERT_OK(driver_.cuCtxRecordEvent(context_, event));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuEventQuery(event));
  EXPECT_TRUE(held.LetGo());
  ASSERT_OK(driver_.cuEventSynchronize(event));
  EXPECT_OK(driver_.cuStreamQuery(first));
  EXPECT_OK(driver_.cuStreamQuery(second));
}

TEST_F(HostFunctionTest, RunsAfterTheWorkBeforeIt) {
  struct Seen {
    unsigned char* host;
    int value;
  };
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, kMiB, 0));
  Seen seen = {static_cast<unsigned char*>(host), -1};
  const CUdeviceptr block = Allocate(kMiB);
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuMemsetD8Async(block, 21, kMiB, stream));
  ASSERT_OK(driver_.cuMemcpyDtoHAsync(host, block, kMiB, stream));
  ASSERT_OK(driver_.cuLaunchHostFunc(
      stream,
      [](void* user) {
        auto* what = static_cast<Seen*>(user);
        what->value = what->host[0];
      },
      &seen));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(21, seen.value);
  EXPECT_OK(driver_.cuMemFreeHost(host));
}

TEST_F(HostFunctionTest, RunsWithoutFurtherCalls) {
  std::atomic<bool> ran{false};
  const CUdeviceptr block = Allocate(kMiB);
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, kMiB, stream));
  ASSERT_OK(driver_.cuLaunchHostFunc(
      stream, [](void* user) { *static_cast<std::atomic<bool>*>(user) = true; }, &ran));
  for (int i = 0; i < 60'000 && !ran; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(ran);
}

TEST_F(HostFunctionTest, MayNotCallTheDriver) {
  CUresult inside = CUDA_SUCCESS;
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuLaunchHostFunc(
      stream,
      [](void* user) {
        CUdeviceptr block = 0;
        *static_cast<CUresult*>(user) = GetDriver().cuMemAlloc(&block, 16);
      },
      &inside));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_CUDA(CUDA_ERROR_NOT_PERMITTED, inside);
}

TEST_F(HostFunctionTest, CallbackGetsItsStreamAndSuccess) {
  struct Seen {
    CUstream stream;
    CUresult result;
  };
  Seen seen = {nullptr, CUDA_ERROR_UNKNOWN};
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuStreamAddCallback(
      stream,
      [](CUstream which, CUresult result, void* user) {
        *static_cast<Seen*>(user) = {which, result};
      },
      &seen, 0));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(stream, seen.stream);
  EXPECT_OK(seen.result);
}

TEST_F(HostFunctionTest, OtherThreadsMayCallMeanwhile) {
  std::atomic<bool> go{false};
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuLaunchHostFunc(
      stream,
      [](void* user) {
        while (!*static_cast<std::atomic<bool>*>(user)) std::this_thread::yield();
      },
      &go));
  std::thread other([&] {
    EXPECT_OK(driver_.cuCtxSetCurrent(context_));
    CUdeviceptr block = 0;
    EXPECT_OK(driver_.cuMemAlloc(&block, kMiB));
    go = true;  // only now can the waiting free end
    EXPECT_OK(driver_.cuMemFree(block));
  });
  EXPECT_OK(driver_.cuStreamSynchronize(stream));
  other.join();
}

TEST_F(KernelTest, LaunchOutsideOfTheLimitsIsRefused) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  const char image[] =
      ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  ASSERT_OK(driver_.cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(driver_.cuLibraryGetKernel(&kernel, library, "nothing"));
  const auto launch = [&](unsigned grid, unsigned block, unsigned shared) {
    return driver_.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), grid, 1, 1, block, 1, 1,
                                  shared, nullptr, nullptr, nullptr);
  };
  EXPECT_OK(launch(1, 32, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(0, 32, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(1, 1025, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch(1, 32, 1u << 20));
  EXPECT_OK(driver_.cuCtxSynchronize());
  EXPECT_OK(driver_.cuLibraryUnload(library));
}

TEST_F(KernelTest, MoreSharedMemoryNeedsTheAttribute) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const char image[] =
      ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  ASSERT_OK(driver_.cuModuleLoadData(&module, image));
  ASSERT_OK(driver_.cuModuleGetFunction(&function, module, "nothing"));
  const auto launch = [&] {
    return driver_.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 64 * 1024, nullptr, nullptr,
                                  nullptr);
  };
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, launch());
  const auto attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  ASSERT_OK(driver_.cuFuncSetAttribute(function, attribute, 64 * 1024));
  EXPECT_OK(launch());
  int value = 0;
  EXPECT_OK(driver_.cuFuncGetAttribute(&value, attribute, function));
  EXPECT_EQ(64 * 1024, value);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuFuncSetAttribute(function, attribute, 1 << 24));
  EXPECT_OK(driver_.cuCtxSynchronize());
  EXPECT_OK(driver_.cuModuleUnload(module));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuModuleUnload(module));
}

TEST_F(KernelTest, OccupancyIsBoundedByThreads) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const char image[] =
      ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  ASSERT_OK(driver_.cuModuleLoadData(&module, image));
  ASSERT_OK(driver_.cuModuleGetFunction(&function, module, "nothing"));
  int threads = 0;
  int blocks = 0;
  ASSERT_OK(driver_.cuDeviceGetAttribute(
      &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device_));
  ASSERT_OK(driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1024, 0));
  EXPECT_GE(blocks, 1);
  EXPECT_LE(blocks * 1024, threads);
  EXPECT_OK(driver_.cuModuleUnload(module));
}

}  // namespace
}  // namespace vramstow::simulator
