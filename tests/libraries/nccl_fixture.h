// A fixture for the tests of the NCCL stand-in: ranks in one process, each with a device and a
// stream.
#ifndef VRAMSTOW_TESTS_LIBRARIES_NCCL_FIXTURE_H_
#define VRAMSTOW_TESTS_LIBRARIES_NCCL_FIXTURE_H_

#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstdlib>
#include <vector>

namespace vramstow {

// Memory on a rank's device. Host vectors are copied into it and out of it.
template <typename T>
class RankMemory {
 public:
  RankMemory(CUcontext context, const std::vector<T>& values)
      : context_(context), count_(values.size()) {
    cuCtxSetCurrent(context_);
    EXPECT_EQ(cuMemAlloc(&address_, bytes()), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyHtoD(address_, values.data(), bytes()), CUDA_SUCCESS);
  }
  ~RankMemory() {
    cuCtxSetCurrent(context_);
    cuMemFree(address_);
  }
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;

  T* data() const { return reinterpret_cast<T*>(address_); }
  size_t bytes() const { return count_ * sizeof(T); }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    cuCtxSetCurrent(context_);
    EXPECT_EQ(cuMemcpyDtoH(values.data(), address_, bytes()), CUDA_SUCCESS);
    return values;
  }

 private:
  CUcontext context_;
  CUdeviceptr address_ = 0;
  size_t count_;
};

// Two ranks on two devices. The staging buffer is small, so that a few thousand elements do not fit
// and are moved in several pieces.
class NcclTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 2;

  void SetUp() override {
    setenv("NCCL_BUFFSIZE", "8192", 1);
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    for (int rank = 0; rank < kRanks; ++rank) {
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&contexts_[rank], rank), CUDA_SUCCESS);
      ASSERT_EQ(cuCtxSetCurrent(contexts_[rank]), CUDA_SUCCESS);
      ASSERT_EQ(cuStreamCreate(&streams_[rank], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    }
  }

  void TearDown() override {
    for (int rank = 0; rank < kRanks; ++rank) {
      if (comms_[rank] != nullptr) {
        EXPECT_EQ(ncclCommDestroy(comms_[rank]), ncclSuccess);
      }
      cuCtxSetCurrent(contexts_[rank]);
      cuStreamDestroy(streams_[rank]);
    }
  }

  void Connect() { ASSERT_EQ(ncclCommInitAll(comms_, kRanks, nullptr), ncclSuccess); }

  // Calls `function(rank)` for both ranks in one group, then waits for both streams.
  template <typename Function>
  void Together(const Function& function) {
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(function(rank), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    Wait();
  }

  void Wait() {
    for (int rank = 0; rank < kRanks; ++rank) {
      cuCtxSetCurrent(contexts_[rank]);
      ASSERT_EQ(cuStreamSynchronize(streams_[rank]), CUDA_SUCCESS);
    }
  }

  ncclResult_t AsyncError(int rank) {
    ncclResult_t result = ncclInternalError;
    EXPECT_EQ(ncclCommGetAsyncError(comms_[rank], &result), ncclSuccess);
    return result;
  }

  CUcontext contexts_[kRanks] = {};
  CUstream streams_[kRanks] = {};
  ncclComm_t comms_[kRanks] = {};
};

// Returns the numbers first, first + 1, and so on.
inline std::vector<float> Count(float first, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_LIBRARIES_NCCL_FIXTURE_H_
