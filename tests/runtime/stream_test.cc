#include <atomic>
#include <thread>

#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

TEST(Stream, HasFlagsPriorityAndDevice) {
  int least = 0;
  int greatest = 0;
  ASSERT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  unsigned flags = 0;
  int priority = 99;
  int device = -1;
  ASSERT_CUDA(cudaStreamGetFlags(stream, &flags));
  ASSERT_CUDA(cudaStreamGetPriority(stream, &priority));
  ASSERT_CUDA(cudaStreamGetDevice(stream, &device));
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(device, 0);
  ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Stream, RunsHostFunctionsInOrder) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  std::string said;
  auto say_a = [](void* text) { static_cast<std::string*>(text)->push_back('a'); };
  auto say_b = [](void* text) { static_cast<std::string*>(text)->push_back('b'); };
  ASSERT_CUDA(cudaLaunchHostFunc(stream, say_a, &said));
  ASSERT_CUDA(cudaLaunchHostFunc(stream, say_b, &said));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(said, "ab");
  ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Stream, CallbackGetsTheRuntimesKindOfStatus) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  struct Seen {
    std::atomic<int> calls = 0;
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
  } seen;
  auto callback = [](cudaStream_t on, cudaError_t status, void* data) {
    auto* result = static_cast<Seen*>(data);
    result->stream = on;
    result->status = status;
    ++result->calls;
  };
  ASSERT_CUDA(cudaStreamAddCallback(stream, callback, &seen, 0));
  ASSERT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.stream, stream);
  EXPECT_EQ(seen.status, cudaSuccess);
  EXPECT_FAILS(cudaStreamAddCallback(stream, nullptr, nullptr, 0), cudaErrorInvalidValue);
  ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Stream, WaitsForAnEventOfAnother) {
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  ASSERT_CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  ASSERT_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  DeviceBuffer buffer(8);
  std::string to(8, '?');
  ASSERT_CUDA(cudaMemsetAsync(buffer.get(), 'q', 8, first));
  ASSERT_CUDA(cudaEventRecord(event, first));
  ASSERT_CUDA(cudaStreamWaitEvent(second, event, 0));
  ASSERT_CUDA(cudaMemcpyAsync(to.data(), buffer.get(), 8, cudaMemcpyDeviceToHost, second));
  ASSERT_CUDA(cudaStreamSynchronize(second));
  EXPECT_EQ(to, "qqqqqqqq");
  ASSERT_CUDA(cudaEventDestroy(event));
  ASSERT_CUDA(cudaStreamDestroy(first));
  ASSERT_CUDA(cudaStreamDestroy(second));
}

TEST(Stream, EventsMeasureTime) {
  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  ASSERT_CUDA(cudaEventCreate(&start));
  ASSERT_CUDA(cudaEventCreate(&end));
  DeviceBuffer buffer(size_t{16} << 20);
  ASSERT_CUDA(cudaEventRecord(start, nullptr));
  ASSERT_CUDA(cudaMemsetAsync(buffer.get(), 0, size_t{16} << 20, nullptr));
  ASSERT_CUDA(cudaEventRecordWithFlags(end, nullptr, cudaEventRecordDefault));
  ASSERT_CUDA(cudaEventSynchronize(end));
  EXPECT_CUDA(cudaEventQuery(end));
  float milliseconds = -1;
  ASSERT_CUDA(cudaEventElapsedTime(&milliseconds, start, end));
  EXPECT_GT(milliseconds, 0);
  ASSERT_CUDA(cudaEventDestroy(start));
  ASSERT_CUDA(cudaEventDestroy(end));
}

TEST(Stream, OfNoWorkIsReady) {
  cudaStream_t stream = nullptr;
  ASSERT_CUDA(cudaStreamCreate(&stream));
  EXPECT_CUDA(cudaStreamQuery(stream));
  ASSERT_CUDA(cudaStreamDestroy(stream));
}

TEST(Stream, WorkIsSubmittedByManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i] {
      cudaStream_t stream = nullptr;
      EXPECT_CUDA(cudaSetDevice(i % 2));
      EXPECT_CUDA(cudaStreamCreate(&stream));
      for (int round = 0; round < kRounds; ++round) {
        DeviceBuffer buffer(64);
        std::string to(64, '?');
        EXPECT_CUDA(cudaMemsetAsync(buffer.get(), 'A' + i, 64, stream));
        EXPECT_CUDA(cudaMemcpyAsync(to.data(), buffer.get(), 64, cudaMemcpyDeviceToHost, stream));
        EXPECT_CUDA(cudaStreamSynchronize(stream));
        EXPECT_EQ(to, std::string(64, static_cast<char>('A' + i)));
      }
      EXPECT_CUDA(cudaStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace vramstow
