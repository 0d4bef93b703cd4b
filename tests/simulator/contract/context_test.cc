// Tests contexts, access between devices, entry points and errors. More tests of them are in
// device_test.cc.
#include <string.h>

#include <set>
#include <thread>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class ContextRuleTest : public ContractTest {
 protected:
  CUcontext NewContext(unsigned flags = 0, CUdevice device = 0) {
    CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
    EXPECT_OK(driver_.cuCtxCreate(&context, nullptr, flags, device));
#else
    EXPECT_OK(driver_.cuCtxCreate(&context, flags, device));
#endif
    return context;
  }
  CUcontext Current() {
    CUcontext context = nullptr;
    EXPECT_OK(driver_.cuCtxGetCurrent(&context));
    return context;
  }
};

using UndefinedContextRuleTest = ContextRuleTest;

class PeerRuleTest : public ContextRuleTest {
 protected:
  void SetUp() override {
    ContextRuleTest::SetUp();
    int count = 0;
    int reach = 0;
    ASSERT_OK(driver_.cuDeviceGetCount(&count));
    if (count > 1) driver_.cuDeviceCanAccessPeer(&reach, 0, 1);
    if (reach == 0) GTEST_SKIP() << "no two devices that reach each other";
    ASSERT_OK(driver_.cuDevicePrimaryCtxRetain(&other_, 1));
  }
  void TearDown() override {
    if (other_ != nullptr) {
      EXPECT_OK(driver_.cuDevicePrimaryCtxRelease(1));
    }
    ContextRuleTest::TearDown();
  }
  CUcontext other_ = nullptr;
};

TEST_F(ContextRuleTest, CreatedContextIsCurrentAndPushed) {
  CUcontext made = NewContext();
  EXPECT_EQ(made, Current());
  CUcontext popped = nullptr;
  ASSERT_OK(driver_.cuCtxPopCurrent(&popped));
  EXPECT_EQ(made, popped);
  EXPECT_EQ(context_, Current()) << "what was current before";
  EXPECT_OK(driver_.cuCtxDestroy(made));
}

TEST_F(ContextRuleTest, CurrentContextIsTheThreadsOwn) {
  std::thread([&] { EXPECT_EQ(nullptr, Current()); }).join();
  EXPECT_EQ(context_, Current());
}

TEST_F(ContextRuleTest, SettingNullPops) {
  CUcontext made = NewContext();
  ASSERT_OK(driver_.cuCtxSetCurrent(nullptr));
  EXPECT_EQ(context_, Current());
  EXPECT_OK(driver_.cuCtxDestroy(made));
}

TEST_F(ContextRuleTest, FlagsComeBack) {
  CUcontext made = NewContext(CU_CTX_SCHED_YIELD);
  unsigned flags = 0;
  ASSERT_OK(driver_.cuCtxGetFlags(&flags));
  EXPECT_EQ(static_cast<unsigned>(CU_CTX_SCHED_YIELD),
            flags & static_cast<unsigned>(CU_CTX_SCHED_MASK));
  EXPECT_OK(driver_.cuCtxDestroy(made));
}

TEST_F(ContextRuleTest, MemoryOfADestroyedContextIsGone) {
  const size_t before = FreeBytes();
  CUcontext made = NewContext();
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAlloc(&block, 64 * kMiB));
  ASSERT_OK(driver_.cuCtxDestroy(made));
  EXPECT_EQ(before, FreeBytes());
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemFree(block));
}

TEST_F(UndefinedContextRuleTest, StreamsAndEventsOfADestroyedContextAreRefused) {
  CUcontext made = NewContext();
  CUstream stream = nullptr;
  CUevent event = nullptr;
  ASSERT_OK(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(driver_.cuEventCreate(&event, 0));
  ASSERT_OK(driver_.cuCtxDestroy(made));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuStreamSynchronize(stream));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuEventQuery(event));
}

TEST_F(UndefinedContextRuleTest, ArraysOfADestroyedContextAreRefused) {
  CUcontext made = NewContext();
  CUDA_ARRAY_DESCRIPTOR shape = {};
  shape.Width = kMiB;
  shape.Height = 64;
  shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  shape.NumChannels = 1;
  CUarray array = nullptr;
  ASSERT_OK(driver_.cuArrayCreate(&array, &shape));
  ASSERT_OK(driver_.cuCtxDestroy(made));
  const CUdeviceptr block = Allocate(64 * kMiB);  // may lie where the array lay
  const size_t before = FreeBytes();
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuArrayDestroy(array));
  EXPECT_EQ(before, FreeBytes());
  EXPECT_OK(driver_.cuMemsetD8(block, 1, 64));
}

TEST_F(UndefinedContextRuleTest, CaptureEndsWithItsContext) {
  for (const bool is_per_thread : {false, true}) {
    CUcontext made = NewContext();
    CUstream stream = CU_STREAM_PER_THREAD;
    if (!is_per_thread) {
      ASSERT_OK(driver_.cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    }
    ASSERT_OK(driver_.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    ASSERT_OK(driver_.cuCtxDestroy(made));
    CUdeviceptr block = 0;
    ASSERT_OK(driver_.cuMemAlloc(&block, 4096)) << "a capture would forbid it";
    EXPECT_OK(driver_.cuMemsetD8Async(block, 0, 4096, CU_STREAM_LEGACY));
    EXPECT_OK(driver_.cuMemFree(block));
  }
}

TEST_F(ContextRuleTest, PrimaryContextIsNotDestroyed) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.cuCtxDestroy(context_));
  EXPECT_EQ(context_, Current());
}

TEST_F(ContextRuleTest, StateOfThePrimaryContextIsTold) {
  unsigned flags = 9;
  int active = 0;
  ASSERT_OK(driver_.cuDevicePrimaryCtxGetState(device_, &flags, &active));
  EXPECT_EQ(1, active);
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, driver_.cuDevicePrimaryCtxGetState(999, &flags, &active));
}

TEST_F(ContextRuleTest, PoppingTheEmptyStackIsRefused) {
  std::thread([&] {
    CUcontext popped = nullptr;
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.cuCtxPopCurrent(&popped));
  }).join();
}

TEST_F(ContextRuleTest, SchedulingFlagsOutOfRangeAreRefused) {
  CUcontext context = nullptr;
#if CUDA_VERSION >= 13000
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuCtxCreate(&context, nullptr, 1u << 20, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, driver_.cuCtxCreate(&context, nullptr, 0, 999));
#else
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuCtxCreate(&context, 1u << 20, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, driver_.cuCtxCreate(&context, 0, 999));
#endif
}

TEST_F(ContextRuleTest, UnknownLimitsAndNullAreRefused) {
  size_t value = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuCtxGetLimit(&value, CU_LIMIT_MAX));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
}

TEST_F(ContextRuleTest, ErrorsOfEveryKindHaveDifferentNames) {
  std::set<std::string> names;
  for (const CUresult error :
       {CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_OUT_OF_MEMORY,
        CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE,
        CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_NOT_READY,
        CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED}) {
    const char* name = nullptr;
    ASSERT_OK(driver_.cuGetErrorName(error, &name));
    names.insert(name);
  }
  EXPECT_EQ(11u, names.size());
}

TEST_F(UndefinedContextRuleTest, NoPlaceForTheNameOfAnErrorIsRefused) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGetErrorName(CUDA_SUCCESS, nullptr));
}

TEST_F(PeerRuleTest, AccessIsEnabledOnceAndDisabledOnce) {
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, driver_.cuCtxDisablePeerAccess(other_));
  EXPECT_OK(driver_.cuCtxEnablePeerAccess(other_, 0));
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, driver_.cuCtxEnablePeerAccess(other_, 0));
  EXPECT_OK(driver_.cuCtxDisablePeerAccess(other_));
  EXPECT_CUDA(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, driver_.cuCtxDisablePeerAccess(other_));
}

TEST_F(PeerRuleTest, OwnContextIsNoPeer) {
  EXPECT_NE(CUDA_SUCCESS, driver_.cuCtxEnablePeerAccess(context_, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuCtxEnablePeerAccess(other_, 1));
}

TEST_F(PeerRuleTest, AttributesAgreeWithAccess) {
  int supported = 0;
  ASSERT_OK(
      driver_.cuDeviceGetP2PAttribute(&supported, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  EXPECT_EQ(1, supported);
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_DEVICE,
      driver_.cuDeviceGetP2PAttribute(&supported, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
  int own = 1;
  ASSERT_OK(driver_.cuDeviceCanAccessPeer(&own, 0, 0));
  EXPECT_EQ(0, own) << "a device is not its own peer";
}

TEST_F(PeerRuleTest, CopyBetweenDevicesNeedsNoAccess) {
  const CUdeviceptr here = Allocate(kMiB);
  ASSERT_OK(driver_.cuMemsetD8(here, 66, kMiB));
  ASSERT_OK(driver_.cuCtxSynchronize());
  ASSERT_OK(driver_.cuCtxPushCurrent(other_));
  CUdeviceptr there = 0;
  ASSERT_OK(driver_.cuMemAlloc(&there, kMiB));
  CUstream stream = nullptr;
  ASSERT_OK(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(driver_.cuMemcpyPeerAsync(there, other_, here, context_, kMiB, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(66, Read(there, 1)[0]);
  EXPECT_OK(driver_.cuStreamDestroy(stream));
  EXPECT_OK(driver_.cuMemFree(there));
  ASSERT_OK(driver_.cuCtxPopCurrent(nullptr));
}

TEST_F(PeerRuleTest, MemoryOfOneDeviceIsNotTakenFromTheOther) {
  size_t here = FreeBytes();
  ASSERT_OK(driver_.cuCtxPushCurrent(other_));
  CUdeviceptr there = 0;
  ASSERT_OK(driver_.cuMemAlloc(&there, 64 * kMiB));
  ASSERT_OK(driver_.cuCtxPopCurrent(nullptr));
  EXPECT_EQ(here, FreeBytes());
  int device = -1;
  ASSERT_OK(driver_.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there));
  EXPECT_EQ(1, device);
  EXPECT_OK(driver_.cuMemFree(there)) << "unified addressing: from any context";
}

}  // namespace
}  // namespace vramstow::simulator
