// Tests the order between streams: which work waits for which, values in memory, events, attributes
// of streams.
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class OrderTest : public ContractTest {
 protected:
  static constexpr size_t kLarge = 128 * kMiB;  // work that takes a while
  void FillLarge(CUdeviceptr block, unsigned char value, CUstream stream) {
    ASSERT_OK(driver_.cuMemsetD8Async(block, value, kLarge, stream));
  }
  // Returns the last byte of `block`, read by a copy in `stream`.
  int LastByteIn(CUdeviceptr block, CUstream stream) {
    const CUdeviceptr copy = Allocate(16);
    EXPECT_OK(driver_.cuMemcpyDtoDAsync(copy, block + kLarge - 16, 16, stream));
    EXPECT_OK(driver_.cuStreamSynchronize(stream));
    return Read(copy, 1)[0];
  }
};
using ValueTest = OrderTest;
using UndefinedValueTest = OrderTest;
using EventRuleTest = OrderTest;
using StreamRuleTest = OrderTest;

TEST_F(OrderTest, PerThreadStreamAndLegacyStreamWaitForEachOther) {
  const CUdeviceptr block = Allocate(kLarge);
  FillLarge(block, 1, CU_STREAM_PER_THREAD);
  EXPECT_EQ(1, LastByteIn(block, CU_STREAM_LEGACY));
  FillLarge(block, 2, CU_STREAM_LEGACY);
  EXPECT_EQ(2, LastByteIn(block, CU_STREAM_PER_THREAD));
}

TEST_F(OrderTest, LegacyStreamOrdersTwoBlockingStreams) {
  const CUdeviceptr block = Allocate(kLarge);
  const CUdeviceptr between = Allocate(16);
  CUstream first = NewStream(CU_STREAM_DEFAULT);
  CUstream second = NewStream(CU_STREAM_DEFAULT);
  FillLarge(block, 3, first);
  ASSERT_OK(driver_.cuMemsetD8Async(between, 0, 16, CU_STREAM_LEGACY));
  EXPECT_EQ(3, LastByteIn(block, second));
}

TEST_F(OrderTest, LegacyStreamWaitsForABlockingStreamThatWasDestroyed) {
  const CUdeviceptr block = Allocate(kLarge);
  CUstream stream = nullptr;
  ASSERT_OK(driver_.cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  for (unsigned char value = 1; value < 5; ++value) FillLarge(block, value, stream);
  ASSERT_OK(driver_.cuStreamDestroy(stream));
  EXPECT_EQ(4, LastByteIn(block, CU_STREAM_LEGACY));
}

// The wait needs no event that is still to come: it is an action in the legacy stream like any
// other.
TEST_F(OrderTest, WaitForAnEventInTheLegacyStreamOrdersTwoBlockingStreams) {
  const CUdeviceptr block = Allocate(kLarge);
  CUstream first = NewStream(CU_STREAM_DEFAULT);
  CUstream second = NewStream(CU_STREAM_DEFAULT);
  CUstream third = NewStream();
  for (const bool is_pending : {false, true}) {
    CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING);
    ASSERT_OK(driver_.cuEventRecord(event, third));
    ASSERT_OK(driver_.cuEventSynchronize(event));
    if (is_pending) {
      FillLarge(Allocate(kLarge), 1, third);
      ASSERT_OK(driver_.cuEventRecord(event, third));
    }
    const int last = is_pending ? 9 : 4;
    for (int value = last - 3; value <= last; ++value) {
      FillLarge(block, static_cast<unsigned char>(value), first);
    }
    ASSERT_OK(driver_.cuStreamWaitEvent(CU_STREAM_LEGACY, event, 0));
    EXPECT_EQ(last, LastByteIn(block, second)) << is_pending;
  }
}

TEST_F(OrderTest, SynchronousFillIsBehindBlockingStreams) {
  const CUdeviceptr block = Allocate(kLarge);
  CUstream stream = NewStream(CU_STREAM_DEFAULT);
  FillLarge(block, 4, stream);
  ASSERT_OK(driver_.cuMemsetD8(block, 5, kLarge));
  EXPECT_EQ(5, Read(block + kLarge - 1, 1)[0]);
}

TEST_F(OrderTest, ContextSynchronizeCoversStreamsThatDoNotBlock) {
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, kLarge, 0));
  memset(host, 0, kLarge);
  const CUdeviceptr block = Allocate(kLarge);
  CUstream stream = NewStream();
  FillLarge(block, 6, stream);
  ASSERT_OK(driver_.cuMemcpyDtoHAsync(host, block, kLarge, stream));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(6, static_cast<char*>(host)[kLarge - 1]);
  EXPECT_OK(driver_.cuMemFreeHost(host));
}

TEST_F(OrderTest, WorkOfAnotherThreadInOneStreamKeepsTheStreamsOrder) {
  const CUdeviceptr block = Allocate(kLarge);
  CUstream stream = NewStream();
  FillLarge(block, 7, stream);
  std::thread([&] {
    EXPECT_OK(driver_.cuCtxSetCurrent(context_));
    EXPECT_OK(driver_.cuMemsetD8Async(block, 8, kLarge, stream));
  }).join();
  EXPECT_EQ(8, LastByteIn(block, stream));
}

TEST_F(OrderTest, ChainOfWaitsIsTransitive) {
  const CUdeviceptr block = Allocate(kLarge);
  CUstream streams[] = {NewStream(), NewStream(), NewStream()};
  CUevent events[] = {NewEvent(CU_EVENT_DISABLE_TIMING), NewEvent(CU_EVENT_DISABLE_TIMING)};
  FillLarge(block, 9, streams[0]);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(driver_.cuEventRecord(events[i], streams[i]));
    ASSERT_OK(driver_.cuStreamWaitEvent(streams[i + 1], events[i], 0));
  }
  EXPECT_EQ(9, LastByteIn(block, streams[2]));
}

TEST_F(EventRuleTest, RecordingAgainMeansTheLaterWork) {
  const CUdeviceptr block = Allocate(kLarge);
  CUstream stream = NewStream();
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING);
  ASSERT_OK(driver_.cuEventRecord(event, stream));
  FillLarge(block, 10, stream);
  ASSERT_OK(driver_.cuEventRecord(event, stream));
  ASSERT_OK(driver_.cuEventSynchronize(event));
  CUstream other = NewStream();
  EXPECT_EQ(10, LastByteIn(block, other));
}

TEST_F(EventRuleTest, DestroyedEventStillOrdersWhatWaits) {
  const CUdeviceptr block = Allocate(kLarge);
  CUstream first = NewStream();
  CUstream second = NewStream();
  CUevent event = nullptr;
  ASSERT_OK(driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  FillLarge(block, 11, first);
  ASSERT_OK(driver_.cuEventRecord(event, first));
  ASSERT_OK(driver_.cuStreamWaitEvent(second, event, 0));
  ASSERT_OK(driver_.cuEventDestroy(event));
  EXPECT_EQ(11, LastByteIn(block, second));
}

TEST_F(EventRuleTest, TimeNeedsTwoRecordsAndTiming) {
  float time = 0;
  CUevent first = NewEvent();
  CUevent second = NewEvent();
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuEventElapsedTime(&time, first, second));
  CUevent untimed = NewEvent(CU_EVENT_DISABLE_TIMING);
  ASSERT_OK(driver_.cuEventRecord(first, nullptr));
  ASSERT_OK(driver_.cuEventRecord(untimed, nullptr));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuEventElapsedTime(&time, first, untimed));
}

TEST_F(EventRuleTest, TimeOfPendingWorkIsNotReady) {
  const CUdeviceptr block = Allocate(kLarge);
  CUstream stream = NewStream();
  CUevent first = NewEvent();
  CUevent second = NewEvent();
  ASSERT_OK(driver_.cuEventRecord(first, stream));
  HeldStream held(stream);
  for (int i = 0; i < 20; ++i) FillLarge(block, 1, stream);
  ASSERT_OK(driver_.cuEventRecord(second, stream));
  float time = 0;
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuEventElapsedTime(&time, first, second));
  EXPECT_TRUE(held.LetGo());
  ASSERT_OK(driver_.cuEventSynchronize(second));
  ASSERT_OK(driver_.cuEventElapsedTime(&time, first, second));
  EXPECT_GT(time, 0);
}

TEST_F(EventRuleTest, UnknownFlagsAreRefused) {
  CUevent event = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuEventCreate(&event, 1u << 12));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuEventCreate(nullptr, 0));
  event = NewEvent();
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuEventRecordWithFlags(event, nullptr, 1u << 9));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuStreamWaitEvent(nullptr, event, 1u << 9));
}

TEST_F(ValueTest, WrittenValueComesInStreamOrder) {
  const CUdeviceptr block = Allocate(64);
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuMemsetD8Async(block, 0xff, 64, stream));
  ASSERT_OK(driver_.cuStreamWriteValue32(stream, block, 0x01020304, 0));
  ASSERT_OK(driver_.cuStreamWriteValue64(stream, block + 8, 0x1122334455667788, 0));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  const std::vector<unsigned char> bytes = Read(block, 16);
  uint32_t narrow = 0;
  uint64_t wide = 0;
  memcpy(&narrow, bytes.data(), 4);
  memcpy(&wide, bytes.data() + 8, 8);
  EXPECT_EQ(0x01020304u, narrow);
  EXPECT_EQ(0x1122334455667788u, wide);
  EXPECT_EQ(0xff, bytes[4]) << "four bytes, no more";
}

TEST_F(ValueTest, StreamWaitsForAValueOfAnotherStream) {
  const CUdeviceptr block = Allocate(kLarge);
  const CUdeviceptr flag = Allocate(4);
  ASSERT_OK(driver_.cuMemsetD32(flag, 0, 1));
  ASSERT_OK(driver_.cuCtxSynchronize());
  CUstream first = NewStream();
  CUstream second = NewStream();
  ASSERT_OK(driver_.cuStreamWaitValue32(second, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
  const CUdeviceptr copy = Allocate(16);
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(copy, block + kLarge - 16, 16, second));
  FillLarge(block, 12, first);
  ASSERT_OK(driver_.cuStreamWriteValue32(first, flag, 1, 0));
  ASSERT_OK(driver_.cuStreamSynchronize(second));
  EXPECT_EQ(12, Read(copy, 1)[0]);
}

TEST_F(ValueTest, StreamWaitsForAValueOfTheHost) {
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
  auto* flag = static_cast<std::atomic<uint32_t>*>(host);
  *flag = 0;
  CUdeviceptr address = 0;
  ASSERT_OK(driver_.cuMemHostGetDevicePointer(&address, host, 0));
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuStreamWaitValue32(stream, address, 5, CU_STREAM_WAIT_VALUE_GEQ));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuStreamQuery(stream));
  *flag = 6;
  EXPECT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_OK(driver_.cuMemFreeHost(host));
}

TEST_F(ValueTest, ManyWaitsKeepNoHostFunctionFromRunning) {
  constexpr int kWaits = 100;
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, 64, 0));
  memset(host, 0, 64);
  const auto address = reinterpret_cast<CUdeviceptr>(host);
  for (int i = 0; i < kWaits; ++i) {
    ASSERT_OK(driver_.cuStreamWaitValue32(NewStream(), address, 1, CU_STREAM_WAIT_VALUE_EQ));
  }
  CUstream stream = NewStream();
  const auto write = [](void* to) { *static_cast<std::atomic<uint32_t>*>(to) = 1; };
  ASSERT_OK(driver_.cuLaunchHostFunc(stream, write, host));
  for (int i = 0; i < 5000 && driver_.cuStreamQuery(stream) != CUDA_SUCCESS; ++i) usleep(1000);
  EXPECT_OK(driver_.cuStreamQuery(stream));
  write(host);
  EXPECT_OK(driver_.cuCtxSynchronize());
  EXPECT_OK(driver_.cuMemFreeHost(host));
}

TEST_F(ValueTest, ConditionsAreAsDocumented) {
  const CUdeviceptr flag = Allocate(8);
  CUstream stream = NewStream();
  const auto passes = [&](uint32_t now, uint32_t value, unsigned condition) {
    EXPECT_OK(driver_.cuStreamWriteValue32(stream, flag, now, 0));
    EXPECT_OK(driver_.cuStreamWaitValue32(stream, flag, value, condition));
    EXPECT_OK(driver_.cuStreamSynchronize(stream));
  };
  passes(7, 7, CU_STREAM_WAIT_VALUE_EQ);
  passes(7, 6, CU_STREAM_WAIT_VALUE_GEQ);
  passes(3, 0xfffffff0, CU_STREAM_WAIT_VALUE_GEQ);  // cyclic: 3 comes after it
  passes(6, 2, CU_STREAM_WAIT_VALUE_AND);
  passes(6, 1, CU_STREAM_WAIT_VALUE_NOR);
}

TEST_F(ValueTest, BatchRunsInOrder) {
  const CUdeviceptr flags = Allocate(16);
  CUstream stream = NewStream();
  CUstreamBatchMemOpParams operations[3] = {};
  for (int i = 0; i < 2; ++i) {
    operations[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[i].writeValue.address = flags;
    operations[i].writeValue.value = static_cast<cuuint32_t>(i + 1);
  }
  operations[2].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[2].waitValue.address = flags;
  operations[2].waitValue.value = 2;
  operations[2].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  ASSERT_OK(driver_.cuStreamBatchMemOp(stream, 3, operations, 0));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(2, Read(flags, 1)[0]);
}

TEST_F(ValueTest, MoreThanABatchHoldsAreRefused) {
  const CUdeviceptr flag = Allocate(16);
  CUstreamBatchMemOpParams write = {};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = flag;
  std::vector<CUstreamBatchMemOpParams> operations(257, write);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuStreamBatchMemOp(NewStream(), 257, operations.data(), 0));
}

TEST_F(UndefinedValueTest, ABatchAtNullIsRefused) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuStreamBatchMemOp(NewStream(), 3, nullptr, 0));
}

TEST_F(ValueTest, MisalignedAndUnknownAddressesAreRefused) {
  const CUdeviceptr flag = Allocate(16);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuStreamWriteValue32(nullptr, flag + 2, 1, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuStreamWriteValue64(nullptr, flag + 4, 1, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuStreamWriteValue32(nullptr, 0, 1, 0));
  uint32_t pageable = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuStreamWriteValue32(nullptr, reinterpret_cast<uintptr_t>(&pageable), 1, 0));
}

TEST_F(StreamRuleTest, IdsAreUniqueAndKept) {
  CUstream first = NewStream();
  CUstream second = NewStream();
  unsigned long long ids[3] = {};
  ASSERT_OK(driver_.cuStreamGetId(first, &ids[0]));
  ASSERT_OK(driver_.cuStreamGetId(second, &ids[1]));
  ASSERT_OK(driver_.cuStreamGetId(first, &ids[2]));
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
}

TEST_F(StreamRuleTest, AttributesAreSetAndCopied) {
  CUstream first = NewStream();
  CUstream second = NewStream();
  CUstreamAttrValue value = {};
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  ASSERT_OK(
      driver_.cuStreamSetAttribute(first, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  ASSERT_OK(driver_.cuStreamCopyAttributes(second, first));
  CUstreamAttrValue got = {};
  ASSERT_OK(driver_.cuStreamGetAttribute(second, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &got));
  EXPECT_EQ(CU_SYNC_POLICY_YIELD, got.syncPolicy);
}

TEST_F(StreamRuleTest, DefaultStreamsAreNotDestroyed) {
  EXPECT_NE(CUDA_SUCCESS, driver_.cuStreamDestroy(nullptr));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuStreamDestroy(CU_STREAM_LEGACY));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuStreamDestroy(CU_STREAM_PER_THREAD));
}

TEST_F(StreamRuleTest, EventOfAnotherContextIsNotRecordedHere) {
  CUcontext other = nullptr;
  CUevent event = nullptr;
  CUstream stream = NewStream();
#if CUDA_VERSION >= 13000
  ASSERT_OK(driver_.cuCtxCreate(&other, nullptr, 0, device_));
#else
  ASSERT_OK(driver_.cuCtxCreate(&other, 0, device_));
#endif
  ASSERT_OK(driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(driver_.cuCtxPopCurrent(nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuEventRecord(event, stream));
  EXPECT_OK(driver_.cuStreamWaitEvent(stream, event, 0)) << "waiting is allowed";
  EXPECT_OK(driver_.cuCtxDestroy(other));
}

// One context copies memory to the host, and another context copies it back, each in a stream of
// its own.
class TwoContextsTest : public OrderTest {
 protected:
  static constexpr size_t kBytes = kMiB;

  void SetUp() override {
    OrderTest::SetUp();
    ASSERT_OK(driver_.cuMemHostAlloc(&host_, kBytes, CU_MEMHOSTALLOC_PORTABLE));
    memset(host_, 0, kBytes);
    source_ = Allocate(kBytes);
    ASSERT_OK(driver_.cuMemsetD8(source_, 31, kBytes));
    ASSERT_OK(driver_.cuCtxSynchronize());
    first_ = NewStream();
    event_ = NewEvent(CU_EVENT_DISABLE_TIMING);
#if CUDA_VERSION >= 13000
    ASSERT_OK(driver_.cuCtxCreate(&other_, nullptr, 0, device_));
#else
    ASSERT_OK(driver_.cuCtxCreate(&other_, 0, device_));
#endif
    ASSERT_OK(driver_.cuMemAlloc(&target_, kBytes));
    ASSERT_OK(driver_.cuStreamCreate(&second_, CU_STREAM_NON_BLOCKING));
    ASSERT_OK(driver_.cuCtxSetCurrent(context_));
  }
  void TearDown() override {
    if (other_ != nullptr) {
      EXPECT_OK(driver_.cuCtxDestroy(other_));
    }
    EXPECT_OK(driver_.cuCtxSetCurrent(context_));
    if (host_ != nullptr) {
      EXPECT_OK(driver_.cuMemFreeHost(host_));
    }
    OrderTest::TearDown();
  }
  // Submits a copy that cannot run yet, and calls `record`, which records the event after it. Then
  // the other context waits for the event.
  template <typename Record>
  void CopyBehind(Record record) {
    HeldStream held(first_);
    ASSERT_OK(driver_.cuMemcpyDtoHAsync(host_, source_, kBytes, first_));
    ASSERT_OK(record());
    ASSERT_OK(driver_.cuCtxSetCurrent(other_));
    ASSERT_OK(driver_.cuStreamWaitEvent(second_, event_, 0));
    ASSERT_OK(driver_.cuMemcpyHtoDAsync(target_, host_, kBytes, second_));
    EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuStreamQuery(second_));
    EXPECT_TRUE(held.LetGo());
    ASSERT_OK(driver_.cuStreamSynchronize(second_));
    EXPECT_EQ(31, Read(target_ + kBytes - 1, 1)[0]);
  }

  void* host_ = nullptr;
  CUdeviceptr source_ = 0;
  CUdeviceptr target_ = 0;
  CUstream first_ = nullptr;
  CUstream second_ = nullptr;
  CUevent event_ = nullptr;
  CUcontext other_ = nullptr;
};

TEST_F(TwoContextsTest, EventOfAStreamOrdersACopyOfAnotherContext) {
  CopyBehind([&] { return driver_.cuEventRecord(event_, first_); });
}

TEST_F(TwoContextsTest, EventOfAWholeContextOrdersACopyOfAnotherContext) {
  NEEDS(cuCtxRecordEvent);
  CopyBehind([&] { return driver_.cuCtxRecordEvent(context_, event_); });
}

}  // namespace
}  // namespace vramstow::simulator
