// Tests two processes that use one GPU: one makes memory, events, physical memory and pools, and
// the other uses them.
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/simulator/contract/peer.h"

namespace vramstow::simulator {
namespace {

class IpcTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    int supported = 0;
    driver_.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, device_);
    if (supported == 0) GTEST_SKIP() << "no IPC here";
  }

  PeerRequest WithHandle(PeerCall call, const void* handle) {
    PeerRequest request{.call = call};
    memcpy(request.data, handle, sizeof(request.data));
    return request;
  }
  uint64_t OpenInPeer(CUdeviceptr block) {
    CUipcMemHandle handle = {};
    EXPECT_OK(driver_.cuIpcGetMemHandle(&handle, block));
    const PeerReply opened = peer_.Ask(WithHandle(PeerCall::kOpenMemory, &handle));
    EXPECT_OK(opened.result);
    return opened.value;
  }
  unsigned char ByteInPeer(uint64_t address) {
    const PeerReply reply = peer_.Ask(PeerCall::kRead, address, 1);
    EXPECT_OK(reply.result);
    return reply.data[0];
  }
  uint64_t FreeBytesInPeer() { return peer_.Ask(PeerCall::kFreeBytes).value; }

  Peer peer_;
};
using SharedCardTest = IpcTest;
using FillingPeerTest = IpcTest;
using IpcMemoryTest = IpcTest;
using IpcEventTest = IpcTest;
using IpcPoolTest = IpcTest;

class ShareableTest : public IpcTest {
 protected:
  // Imports a page of the other process, and closes its descriptor.
  CUmemGenericAllocationHandle Import(int descriptor) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(driver_.cuMemImportFromShareableHandle(
        &handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    return handle;
  }
  CUdeviceptr Map(CUmemGenericAllocationHandle handle, CUmemAccess_flags flags) {
    CUdeviceptr range = 0;
    EXPECT_OK(driver_.cuMemAddressReserve(&range, kPage, 0, 0, 0));
    EXPECT_OK(driver_.cuMemMap(range, kPage, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = flags;
    EXPECT_OK(driver_.cuMemSetAccess(range, kPage, &access, 1));
    return range;
  }
  void UnmapAndRelease(CUdeviceptr range, CUmemGenericAllocationHandle handle) {
    EXPECT_OK(driver_.cuMemUnmap(range, kPage));
    EXPECT_OK(driver_.cuMemAddressFree(range, kPage));
    EXPECT_OK(driver_.cuMemRelease(handle));
  }
};

TEST_F(SharedCardTest, MemoryOfOneIsMissingForTheOther) {
  const uint64_t before = FreeBytesInPeer();
  Allocate(256 * kMiB);
  EXPECT_LE(FreeBytesInPeer(), before - 256 * kMiB);
  const size_t here = FreeBytes();
  const PeerReply block = peer_.Ask(PeerCall::kAllocate, 128 * kMiB);
  ASSERT_OK(block.result);
  EXPECT_LE(FreeBytes(), here - 128 * kMiB);
  EXPECT_OK(peer_.Ask(PeerCall::kFree, block.value).result);
  EXPECT_EQ(here, FreeBytes());
}

TEST_F(FillingPeerTest, CardThatAnotherProcessFillsIsOutOfMemoryUntilItGivesBack) {
  std::vector<uint64_t> blocks;
  for (;;) {
    const PeerReply block = peer_.Ask(PeerCall::kAllocate, 64 * kMiB);
    if (block.result != CUDA_SUCCESS) break;
    blocks.push_back(block.value);
  }
  ASSERT_GE(blocks.size(), 2u);
  CUdeviceptr block = 0;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, driver_.cuMemAlloc(&block, 100 * kMiB));
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(peer_.Ask(PeerCall::kFree, blocks[i]).result);
  }
  Allocate(100 * kMiB);
}

TEST_F(SharedCardTest, WhatAKilledProcessHeldIsFreeAgain) {
  const size_t with_context = FreeBytes();
  ASSERT_OK(peer_.Ask(PeerCall::kAllocate, 512 * kMiB).result);
  EXPECT_LE(FreeBytes(), with_context - 512 * kMiB);
  peer_.Kill();
  // A real GPU needs a moment to free the memory of a process that has ended.
  for (int i = 0; i < 3000 && FreeBytes() <= with_context; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_GT(FreeBytes(), with_context) << "its context is gone as well";
}

TEST_F(SharedCardTest, ContextOfAnotherProcessTakesMemoryToo) {
  const size_t with_one = FreeBytes();
  Peer second;
  EXPECT_LT(FreeBytes(), with_one);
}

TEST_F(IpcMemoryTest, BytesAreTheSameInBothProcesses) {
  for (const size_t bytes : {size_t{1000}, 3 * kMiB}) {
    const CUdeviceptr block = Allocate(bytes);
    ASSERT_OK(driver_.cuMemsetD8(block, 11, bytes));
    ASSERT_OK(driver_.cuCtxSynchronize());
    const uint64_t there = OpenInPeer(block);
    EXPECT_EQ(11, ByteInPeer(there + bytes - 1));
    ASSERT_OK(peer_.Ask(PeerCall::kFill, there, bytes, 12).result);
    ASSERT_OK(peer_.Ask(PeerCall::kSynchronize).result);
    EXPECT_EQ(12, Read(block + bytes / 2, 1)[0]);
    EXPECT_OK(peer_.Ask(PeerCall::kCloseMemory, there).result);
  }
}

TEST_F(IpcMemoryTest, MemoryThatWasNeverWrittenIsWrittenFromElsewhere) {
  const CUdeviceptr block = Allocate(8 * kMiB);
  const uint64_t there = OpenInPeer(block);
  ASSERT_OK(peer_.Ask(PeerCall::kFill, there + 5 * kMiB, 64, 77).result);
  ASSERT_OK(peer_.Ask(PeerCall::kSynchronize).result);
  const CUdeviceptr copy = Allocate(8 * kMiB);
  ASSERT_OK(driver_.cuMemcpyDtoD(copy, block, 8 * kMiB));
  EXPECT_EQ(77, Read(copy + 5 * kMiB, 1)[0]) << "a copy must not take it for untouched";
}

TEST_F(IpcMemoryTest, OpeningTwiceGivesTheSameAddressAndCounts) {
  const CUdeviceptr block = Allocate(kMiB);
  const uint64_t first = OpenInPeer(block);
  const uint64_t second = OpenInPeer(block);
  EXPECT_EQ(first, second);
  EXPECT_OK(peer_.Ask(PeerCall::kCloseMemory, first).result);
  ASSERT_OK(peer_.Ask(PeerCall::kFill, first, 16, 1).result) << "still open once";
  EXPECT_OK(peer_.Ask(PeerCall::kCloseMemory, first).result);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, peer_.Ask(PeerCall::kCloseMemory, first).result);
}

TEST_F(IpcMemoryTest, ClosedMemoryIsRefused) {
  const CUdeviceptr block = Allocate(4 * kMiB);
  const uint64_t there = OpenInPeer(block);
  ASSERT_OK(peer_.Ask(PeerCall::kCloseMemory, there).result);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, peer_.Ask(PeerCall::kFill, there, 16, 1).result);
}

TEST_F(IpcMemoryTest, OpenedMemoryTakesNone) {
  const CUdeviceptr block = Allocate(256 * kMiB);
  const size_t before = FreeBytes();
  OpenInPeer(block);
  EXPECT_GE(FreeBytes() + 4 * kMiB, before) << "it is its maker's";
}

TEST_F(IpcMemoryTest, OpenedMemoryIsNotFreedThere) {
  const CUdeviceptr block = Allocate(kMiB);
  const uint64_t there = OpenInPeer(block);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, peer_.Ask(PeerCall::kFree, there).result);
}

TEST_F(IpcMemoryTest, HandleOpensOnlyInOtherProcesses) {
  const CUdeviceptr block = Allocate(kMiB);
  CUipcMemHandle handle = {};
  ASSERT_OK(driver_.cuIpcGetMemHandle(&handle, block));
  CUdeviceptr again = 0;
  EXPECT_NE(CUDA_SUCCESS,
            driver_.cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

TEST_F(IpcMemoryTest, HandleOfFreedMemoryIsRefused) {
  CUdeviceptr block = 0;
  CUipcMemHandle handle = {};
  ASSERT_OK(driver_.cuMemAlloc(&block, 4 * kMiB));
  ASSERT_OK(driver_.cuIpcGetMemHandle(&handle, block));
  ASSERT_OK(driver_.cuMemFree(block));
  EXPECT_NE(CUDA_SUCCESS, peer_.Ask(WithHandle(PeerCall::kOpenMemory, &handle)).result);
}

TEST_F(IpcMemoryTest, HandleOfADeadProcessIsRefused) {
  const PeerReply block = peer_.Ask(PeerCall::kAllocate, kMiB);
  const PeerReply handle = peer_.Ask(PeerCall::kMemoryHandle, block.value);
  ASSERT_OK(handle.result);
  peer_.Kill();
  CUipcMemHandle stale = {};
  memcpy(&stale, handle.data, sizeof(stale));
  CUdeviceptr address = 0;
  EXPECT_NE(CUDA_SUCCESS,
            driver_.cuIpcOpenMemHandle(&address, stale, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

TEST_F(IpcMemoryTest, NonsenseIsNoHandle) {
  CUipcMemHandle nonsense;
  memset(&nonsense, 0x5a, sizeof(nonsense));
  CUdeviceptr address = 0;
  EXPECT_NE(CUDA_SUCCESS,
            driver_.cuIpcOpenMemHandle(&address, nonsense, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuIpcCloseMemHandle(0x1234));
}

TEST_F(IpcMemoryTest, UnknownFlagsAreRefused) {
  const PeerReply block = peer_.Ask(PeerCall::kAllocate, kMiB);
  const PeerReply handle = peer_.Ask(PeerCall::kMemoryHandle, block.value);
  CUipcMemHandle given = {};
  memcpy(&given, handle.data, sizeof(given));
  CUdeviceptr address = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuIpcOpenMemHandle(&address, given, 1u << 5));
}

TEST_F(IpcMemoryTest, OnlyPlainDeviceMemoryHasHandles) {
  CUipcMemHandle handle = {};
  void* host = nullptr;
  CUdeviceptr managed = 0;
  CUdeviceptr pooled = 0;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, kMiB, 0));
  ASSERT_OK(driver_.cuMemAllocManaged(&managed, kMiB, CU_MEM_ATTACH_GLOBAL));
  ASSERT_OK(driver_.cuMemAllocAsync(&pooled, kMiB, nullptr));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuIpcGetMemHandle(&handle, reinterpret_cast<uintptr_t>(host)));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuIpcGetMemHandle(&handle, managed));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuIpcGetMemHandle(&handle, pooled));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuIpcGetMemHandle(&handle, 0));
  EXPECT_OK(driver_.cuMemFreeHost(host));
  EXPECT_OK(driver_.cuMemFree(managed));
  EXPECT_OK(driver_.cuMemFree(pooled));
}

TEST_F(IpcMemoryTest, AttributeSaysWhichMemoryHasHandles) {
  unsigned capable = 9;
  const CUdeviceptr block = Allocate(kMiB);
  ASSERT_OK(driver_.cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                          block));
  EXPECT_EQ(1u, capable);
  CUdeviceptr pooled = 0;
  ASSERT_OK(driver_.cuMemAllocAsync(&pooled, kMiB, nullptr));
  ASSERT_OK(driver_.cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                          pooled));
  EXPECT_EQ(0u, capable);
  EXPECT_OK(driver_.cuMemFree(pooled));
}

TEST_F(IpcEventTest, EventMustBeMadeForIt) {
  CUipcEventHandle handle = {};
  EXPECT_NE(CUDA_SUCCESS, driver_.cuIpcGetEventHandle(&handle, NewEvent(CU_EVENT_DISABLE_TIMING)));
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  EXPECT_OK(driver_.cuIpcGetEventHandle(&handle, event));
  CUevent again = nullptr;
  EXPECT_NE(CUDA_SUCCESS, driver_.cuIpcOpenEventHandle(&again, handle)) << "in its own process";
}

TEST_F(IpcEventTest, UnrecordedEventIsCompleteElsewhere) {
  CUipcEventHandle handle = {};
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  ASSERT_OK(driver_.cuIpcGetEventHandle(&handle, event));
  const PeerReply opened = peer_.Ask(WithHandle(PeerCall::kOpenEvent, &handle));
  ASSERT_OK(opened.result);
  EXPECT_OK(peer_.Ask(PeerCall::kQueryEvent, opened.value).result);
}

// Tests the rule on which sharing between processes depends. A process that waits for an event sees
// all work that was done before the event was recorded, and work that waits for the event does not
// run earlier.
TEST_F(IpcEventTest, WaitElsewhereIsForTheWorkHere) {
  const CUdeviceptr block = Allocate(64 * kMiB);
  const uint64_t there = OpenInPeer(block);
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  CUipcEventHandle handle = {};
  ASSERT_OK(driver_.cuIpcGetEventHandle(&handle, event));
  const PeerReply opened = peer_.Ask(WithHandle(PeerCall::kOpenEvent, &handle));
  ASSERT_OK(opened.result);
  CUstream stream = NewStream();
  for (unsigned char round = 1; round <= 20; ++round) {
    ASSERT_OK(driver_.cuMemsetD8Async(block, round, 64 * kMiB, stream));
    ASSERT_OK(driver_.cuEventRecord(event, stream));
    ASSERT_OK(peer_.Ask(PeerCall::kWaitEvent, opened.value).result);
    EXPECT_EQ(round, ByteInPeer(there + 64 * kMiB - 1)) << "the copy is behind the wait";
  }
}

TEST_F(IpcEventTest, HostWaitElsewhereEndsWithTheWorkHere) {
  const CUdeviceptr block = Allocate(64 * kMiB);
  const uint64_t there = OpenInPeer(block);
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  CUstream stream = NewStream();
  CUipcEventHandle handle = {};
  ASSERT_OK(driver_.cuMemsetD8Async(block, 44, 64 * kMiB, stream));
  ASSERT_OK(driver_.cuEventRecord(event, stream));
  ASSERT_OK(driver_.cuIpcGetEventHandle(&handle, event)) << "recorded before it was shared";
  const PeerReply opened = peer_.Ask(WithHandle(PeerCall::kOpenEvent, &handle));
  ASSERT_OK(opened.result);
  EXPECT_OK(peer_.Ask(PeerCall::kSynchronizeEvent, opened.value).result);
  EXPECT_OK(peer_.Ask(PeerCall::kQueryEvent, opened.value).result);
  EXPECT_EQ(44, ByteInPeer(there));
}

TEST_F(IpcEventTest, RecordElsewhereIsWaitedForHere) {
  const PeerReply memory = peer_.Ask(PeerCall::kAllocate, 64 * kMiB);
  const PeerReply memory_handle = peer_.Ask(PeerCall::kMemoryHandle, memory.value);
  ASSERT_OK(memory_handle.result);
  CUipcMemHandle given = {};
  memcpy(&given, memory_handle.data, sizeof(given));
  CUdeviceptr here = 0;
  ASSERT_OK(driver_.cuIpcOpenMemHandle(&here, given, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  CUipcEventHandle handle = {};
  ASSERT_OK(driver_.cuIpcGetEventHandle(&handle, event));
  const PeerReply opened = peer_.Ask(WithHandle(PeerCall::kOpenEvent, &handle));
  for (unsigned char round = 1; round <= 10; ++round) {
    ASSERT_OK(peer_.Ask(PeerCall::kFill, memory.value, 64 * kMiB, round).result);
    ASSERT_OK(peer_.Ask(PeerCall::kRecordEvent, opened.value).result);
    CUstream stream = NewStream();
    ASSERT_OK(driver_.cuStreamWaitEvent(stream, event, 0));
    const CUdeviceptr copy = Allocate(16);
    ASSERT_OK(driver_.cuMemcpyDtoDAsync(copy, here + 64 * kMiB - 16, 16, stream));
    ASSERT_OK(driver_.cuStreamSynchronize(stream));
    EXPECT_EQ(round, Read(copy, 1)[0]);
  }
  EXPECT_OK(driver_.cuIpcCloseMemHandle(here));
}

TEST_F(IpcEventTest, NobodyWaitsForeverForAProcessThatDied) {
  const PeerReply made =
      peer_.Ask(PeerCall::kMakeEvent, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
  const PeerReply handle = peer_.Ask(PeerCall::kEventHandle, made.value);
  ASSERT_OK(handle.result);
  CUipcEventHandle given = {};
  memcpy(&given, handle.data, sizeof(given));
  CUevent event = nullptr;
  ASSERT_OK(driver_.cuIpcOpenEventHandle(&event, given));
  ASSERT_OK(peer_.Ask(PeerCall::kRecordEvent, made.value).result);
  peer_.Kill();
  driver_.cuEventSynchronize(event);  // the result does not matter
  EXPECT_OK(driver_.cuEventDestroy(event));
}

TEST_F(ShareableTest, DescriptorGivesTheSamePhysicalMemoryElsewhere) {
  int descriptor = -1;
  const PeerReply there =
      peer_.Ask(PeerRequest{.call = PeerCall::kExportMapped, .count = kPage}, -1, &descriptor);
  ASSERT_OK(there.result);
  ASSERT_GE(descriptor, 0);
  ASSERT_OK(peer_.Ask(PeerCall::kFill, there.value, kPage, 21).result);
  ASSERT_OK(peer_.Ask(PeerCall::kSynchronize).result);
  const CUmemGenericAllocationHandle handle = Import(descriptor);
  const CUdeviceptr range = Map(handle, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(21, Read(range + kPage - 1, 1)[0]);
  ASSERT_OK(driver_.cuMemsetD8(range, 22, kPage));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(22, ByteInPeer(there.value));
  UnmapAndRelease(range, handle);
}

TEST_F(ShareableTest, ImportedMemoryOutlivesItsMakersMapping) {
  int descriptor = -1;
  const PeerReply there =
      peer_.Ask(PeerRequest{.call = PeerCall::kExportMapped, .count = kPage}, -1, &descriptor);
  ASSERT_OK(there.result);
  ASSERT_OK(peer_.Ask(PeerCall::kFill, there.value, kPage, 33).result);
  ASSERT_OK(peer_.Ask(PeerCall::kSynchronize).result);
  const CUmemGenericAllocationHandle handle = Import(descriptor);
  ASSERT_OK(peer_.Ask(PeerCall::kUnmap, there.value, kPage).result);
  const CUdeviceptr range = Map(handle, CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(33, Read(range, 1)[0]);
  UnmapAndRelease(range, handle);
}

class IpcPoolPeerTest : public IpcTest {
 protected:
  // Imports a pool of the other process and a block of it that is filled with `byte`.
  CUdeviceptr ImportBlock(unsigned char byte, size_t bytes) {
    int descriptor = -1;
    const PeerReply pool = peer_.Ask(PeerRequest{.call = PeerCall::kMakePool}, -1, &descriptor);
    EXPECT_OK(pool.result);
    const PeerReply block = peer_.Ask(PeerCall::kAllocateFromPool, pool.value, bytes);
    EXPECT_OK(block.result);
    EXPECT_OK(peer_.Ask(PeerCall::kFill, block.value, bytes, byte).result);
    EXPECT_OK(peer_.Ask(PeerCall::kSynchronize).result);
    const PeerReply exported = peer_.Ask(PeerCall::kExportPointer, block.value);
    EXPECT_OK(exported.result);
    EXPECT_OK(driver_.cuMemPoolImportFromShareableHandle(
        &pool_, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(descriptor);
    memcpy(&data_, exported.data, sizeof(data_));
    CUdeviceptr here = 0;
    EXPECT_OK(driver_.cuMemPoolImportPointer(&here, pool_, &data_));
    there_ = block.value;
    return here;
  }

  CUmemoryPool pool_ = nullptr;
  CUmemPoolPtrExportData data_ = {};
  uint64_t there_ = 0;
};

TEST_F(IpcPoolPeerTest, ImportedPointerShowsTheBytes) {
  const CUdeviceptr here = ImportBlock(51, kMiB);
  EXPECT_EQ(51, Read(here + kMiB - 1, 1)[0]);
  ASSERT_OK(driver_.cuMemsetD8(here, 52, kMiB));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(52, ByteInPeer(there_));
  EXPECT_OK(driver_.cuMemFree(here)) << "documented: freed here before it is freed there";
  EXPECT_OK(driver_.cuMemPoolDestroy(pool_));
}

TEST_F(IpcPoolPeerTest, ImportedPointerIsFreedInStreamOrder) {
  const CUdeviceptr here = ImportBlock(61, kMiB);
  const CUdeviceptr copy = Allocate(16);
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(copy, here, 16, stream));
  ASSERT_OK(driver_.cuMemFreeAsync(here, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(61, Read(copy, 1)[0]);
  EXPECT_OK(driver_.cuMemPoolDestroy(pool_));
}

TEST_F(IpcPoolPeerTest, NothingIsAllocatedFromAnImportedPool) {
  const CUdeviceptr here = ImportBlock(1, kMiB);
  CUdeviceptr block = 0;
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemAllocFromPoolAsync(&block, 16, pool_, nullptr));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuDeviceSetMemPool(device_, pool_));
  EXPECT_OK(driver_.cuMemFree(here));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool_));
}

TEST_F(IpcPoolPeerTest, PointerOfAnotherPoolIsRefused) {
  const CUdeviceptr first = ImportBlock(1, kMiB);
  const CUmemPoolPtrExportData data = data_;
  CUmemoryPool first_pool = pool_;
  const CUdeviceptr second = ImportBlock(2, kMiB);
  CUmemPoolPtrExportData mixed = data;
  CUdeviceptr wrong = 0;
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemPoolImportPointer(&wrong, pool_, &mixed));
  EXPECT_OK(driver_.cuMemFree(first));
  EXPECT_OK(driver_.cuMemFree(second));
  EXPECT_OK(driver_.cuMemPoolDestroy(first_pool));
  EXPECT_OK(driver_.cuMemPoolDestroy(pool_));
}

TEST_F(IpcPoolTest, PoolNotMadeForItIsNotExported) {
  CUmemoryPool pool = nullptr;
  ASSERT_OK(driver_.cuDeviceGetDefaultMemPool(&pool, device_));
  int descriptor = -1;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemPoolExportToShareableHandle(
                  &descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAllocAsync(&block, kMiB, nullptr));
  CUmemPoolPtrExportData data = {};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemPoolExportPointer(&data, block));
  EXPECT_OK(driver_.cuMemFree(block));
}

TEST_F(IpcPoolTest, AnyDescriptorIsNoPool) {
  CUmemoryPool pool = nullptr;
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemPoolImportFromShareableHandle(
                              &pool, nullptr, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
}

}  // namespace
}  // namespace vramstow::simulator
