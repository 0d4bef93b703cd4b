// Tests stream capture, graphs, and stream-ordered memory.
#include <thread>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class GraphTest : public ContractTest {
 protected:
  void Begin(CUstream stream, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    ASSERT_OK(driver_.cuStreamBeginCapture(stream, mode));
  }
  size_t NodeCount(CUgraph graph) {
    size_t count = 0;
    EXPECT_OK(driver_.cuGraphGetNodes(graph, nullptr, &count));
    return count;
  }
  void Run(CUgraph graph, CUstream stream) {
    CUgraphExec executable = nullptr;
    ASSERT_OK(driver_.cuGraphInstantiate(&executable, graph, 0));
    ASSERT_OK(driver_.cuGraphLaunch(executable, stream));
    ASSERT_OK(driver_.cuStreamSynchronize(stream));
    ASSERT_OK(driver_.cuGraphExecDestroy(executable));
  }
};
using CaptureTest = GraphTest;
using UndefinedCaptureTest = GraphTest;
using PoolTest = ContractTest;

TEST_F(CaptureTest, CapturedWorkRunsOnlyAtLaunch) {
  const CUdeviceptr block = Allocate(kMiB);
  ASSERT_OK(driver_.cuMemsetD8(block, 1, kMiB));
  CUstream stream = NewStream();
  Begin(stream);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 2, kMiB, stream));
  CUgraph graph = nullptr;
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(1, Read(block, 1)[0]);
  Run(graph, stream);
  EXPECT_EQ(2, Read(block, 1)[0]);
  ASSERT_OK(driver_.cuMemsetD8(block, 3, kMiB));
  ASSERT_OK(driver_.cuCtxSynchronize());  // the stream does not wait for the fill
  Run(graph, stream);
  EXPECT_EQ(2, Read(block, 1)[0]) << "and again";
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(CaptureTest, StatusFollowsTheCapture) {
  CUstream stream = NewStream();
  CUstreamCaptureStatus status;
  ASSERT_OK(driver_.cuStreamIsCapturing(stream, &status));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_NONE, status);
  Begin(stream);
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  size_t count = 7;
  ASSERT_OK(driver_.cuStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, nullptr, &count));
  EXPECT_EQ(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  EXPECT_NE(0u, id);
  EXPECT_NE(nullptr, graph);
  EXPECT_EQ(0u, count);
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE,
              driver_.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  EXPECT_OK(driver_.cuGraphDestroy(graph));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE, driver_.cuStreamEndCapture(stream, &graph));
}

TEST_F(CaptureTest, LegacyStreamCannotBeCaptured) {
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              driver_.cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

TEST_F(CaptureTest, SynchronizingInvalidates) {
  CUstream stream = NewStream();
  Begin(stream);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, driver_.cuStreamSynchronize(stream));
  CUgraph graph = nullptr;
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, driver_.cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(nullptr, graph);
  EXPECT_OK(driver_.cuStreamSynchronize(stream)) << "the stream is free again";
}

TEST_F(CaptureTest, AllocatingIsUnsafeUnlessRelaxed) {
  CUstream stream = NewStream();
  CUgraph graph = nullptr;
  CUdeviceptr block = 0;
  Begin(stream);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, driver_.cuMemAlloc(&block, kMiB));
  driver_.cuStreamEndCapture(stream, &graph);
  Begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_NE(0u, Allocate(kMiB));
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(CaptureTest, ThreadMayExchangeItsMode) {
  CUstream stream = NewStream();
  CUgraph graph = nullptr;
  Begin(stream);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  ASSERT_OK(driver_.cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(CU_STREAM_CAPTURE_MODE_GLOBAL, mode);
  EXPECT_NE(0u, Allocate(kMiB));
  ASSERT_OK(driver_.cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(CU_STREAM_CAPTURE_MODE_RELAXED, mode);
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(CaptureTest, ThreadLocalCaptureLeavesOtherThreadsAlone) {
  CUstream stream = NewStream();
  CUgraph graph = nullptr;
  Begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  std::thread([&] {
    CUdeviceptr block = 0;
    ASSERT_OK(driver_.cuCtxSetCurrent(context_));
    EXPECT_OK(driver_.cuMemAlloc(&block, kMiB));
    EXPECT_OK(driver_.cuMemFree(block));
  }).join();
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(CaptureTest, AnotherThreadEndsACaptureAndGetsNoGraph) {
  CUstream stream = NewStream();
  CUgraph graph = nullptr;
  Begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  std::thread([&] {
    ASSERT_OK(driver_.cuCtxSetCurrent(context_));
    EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, driver_.cuStreamEndCapture(stream, &graph));
  }).join();
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE, driver_.cuStreamEndCapture(stream, &graph)) << "it ended";
  EXPECT_OK(driver_.cuStreamSynchronize(stream));
}

TEST_F(CaptureTest, ForkAndJoinMakeDependencies) {
  const CUdeviceptr block = Allocate(3 * kMiB);
  CUstream first = NewStream();
  CUstream second = NewStream();
  CUevent fork = NewEvent();
  CUevent join = NewEvent();
  Begin(first);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, kMiB, first));
  ASSERT_OK(driver_.cuEventRecord(fork, first));
  ASSERT_OK(driver_.cuStreamWaitEvent(second, fork, 0));
  ASSERT_OK(driver_.cuMemsetD8Async(block + kMiB, 2, kMiB, second));
  ASSERT_OK(driver_.cuEventRecord(join, second));
  ASSERT_OK(driver_.cuMemsetD8Async(block + 2 * kMiB, 3, kMiB, first));
  ASSERT_OK(driver_.cuStreamWaitEvent(first, join, 0));
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(block + 2 * kMiB, block + kMiB, 16, first));
  CUgraph graph = nullptr;
  ASSERT_OK(driver_.cuStreamEndCapture(first, &graph));
  EXPECT_EQ(4u, NodeCount(graph));
  size_t roots = 0;
  size_t edges = 0;
  ASSERT_OK(driver_.cuGraphGetRootNodes(graph, nullptr, &roots));
  ASSERT_OK(driver_.cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(1u, roots);
  EXPECT_EQ(4u, edges);
  Run(graph, first);
  EXPECT_EQ(2, Read(block + 2 * kMiB, 1)[0]);
  EXPECT_EQ(3, Read(block + 2 * kMiB + 16, 1)[0]);
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(CaptureTest, UnjoinedWorkIsRefused) {
  const CUdeviceptr block = Allocate(kMiB);
  CUstream first = NewStream();
  CUstream second = NewStream();
  CUevent fork = NewEvent();
  CUgraph graph = nullptr;
  Begin(first);
  ASSERT_OK(driver_.cuEventRecord(fork, first));
  ASSERT_OK(driver_.cuStreamWaitEvent(second, fork, 0));
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, kMiB, second));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, driver_.cuStreamEndCapture(first, &graph));
}

TEST_F(CaptureTest, EndingElsewhereIsUnmatched) {
  CUstream first = NewStream();
  CUstream second = NewStream();
  CUevent fork = NewEvent();
  CUgraph graph = nullptr;
  Begin(first);
  ASSERT_OK(driver_.cuEventRecord(fork, first));
  ASSERT_OK(driver_.cuStreamWaitEvent(second, fork, 0));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, driver_.cuStreamEndCapture(second, &graph));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, driver_.cuStreamEndCapture(first, &graph));
}

TEST_F(CaptureTest, WaitingForUncapturedWorkIsIsolation) {
  CUstream stream = NewStream();
  CUevent outside = NewEvent();
  CUgraph graph = nullptr;
  ASSERT_OK(driver_.cuEventRecord(outside, NewStream()));
  Begin(stream);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, driver_.cuStreamWaitEvent(stream, outside, 0));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, driver_.cuStreamEndCapture(stream, &graph));
}

TEST_F(CaptureTest, CapturedEventCannotBeAsked) {
  CUstream stream = NewStream();
  CUevent event = NewEvent();
  CUgraph graph = nullptr;
  Begin(stream);
  ASSERT_OK(driver_.cuEventRecord(event, stream));
  EXPECT_CUDA(CUDA_ERROR_CAPTURED_EVENT, driver_.cuEventQuery(event));
  driver_.cuStreamEndCapture(stream, &graph);
}

TEST_F(CaptureTest, LegacyStreamWouldDependOnABlockingCapture) {
  const CUdeviceptr block = Allocate(kMiB);
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  CUgraph graph = nullptr;
  Begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, driver_.cuMemsetD8Async(block, 1, kMiB, nullptr));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, driver_.cuStreamEndCapture(blocking, &graph));
}

TEST_F(CaptureTest, WaitOfTheLegacyStreamWouldDependOnABlockingCapture) {
  CUstream blocking = NewStream(CU_STREAM_DEFAULT);
  CUevent event = NewEvent();
  CUgraph graph = nullptr;
  Begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
              driver_.cuStreamWaitEvent(CU_STREAM_LEGACY, event, 0));
  EXPECT_CUDA(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, driver_.cuStreamEndCapture(blocking, &graph));
}

TEST_F(GraphTest, BuiltByHandRunsInOrder) {
  const CUdeviceptr block = Allocate(kMiB);
  CUgraph graph = nullptr;
  CUgraphNode first = nullptr;
  CUgraphNode second = nullptr;
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = block;
  fill.elementSize = 1;
  fill.width = kMiB;
  fill.height = 1;
  fill.value = 10;
  ASSERT_OK(driver_.cuGraphCreate(&graph, 0));
  ASSERT_OK(driver_.cuGraphAddMemsetNode(&first, graph, nullptr, 0, &fill, context_));
  fill.value = 20;
  ASSERT_OK(driver_.cuGraphAddMemsetNode(&second, graph, nullptr, 0, &fill, context_));
  ASSERT_OK(driver_.cuGraphAddDependencies(graph, &first, &second, nullptr, 1));
  CUgraphNodeType type;
  ASSERT_OK(driver_.cuGraphNodeGetType(first, &type));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_MEMSET, type);
  for (int i = 0; i < 20; ++i) {
    Run(graph, NewStream());
    EXPECT_EQ(20, Read(block, 1)[0]);
  }
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(GraphTest, HostNodesRun) {
  int count = 0;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUDA_HOST_NODE_PARAMS host = {};
  host.fn = [](void* user) { ++*static_cast<int*>(user); };
  host.userData = &count;
  ASSERT_OK(driver_.cuGraphCreate(&graph, 0));
  ASSERT_OK(driver_.cuGraphAddHostNode(&node, graph, nullptr, 0, &host));
  Run(graph, NewStream());
  Run(graph, NewStream());
  EXPECT_EQ(2, count);
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(GraphTest, ChildGraphRunsBetweenItsNeighbours) {
  const CUdeviceptr block = Allocate(kMiB);
  CUgraph child = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode inner = nullptr;
  CUgraphNode before = nullptr;
  CUgraphNode middle = nullptr;
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = block;
  fill.elementSize = 1;
  fill.width = kMiB;
  fill.height = 1;
  fill.value = 2;
  ASSERT_OK(driver_.cuGraphCreate(&child, 0));
  ASSERT_OK(driver_.cuGraphAddMemsetNode(&inner, child, nullptr, 0, &fill, context_));
  ASSERT_OK(driver_.cuGraphCreate(&graph, 0));
  fill.value = 1;
  ASSERT_OK(driver_.cuGraphAddMemsetNode(&before, graph, nullptr, 0, &fill, context_));
  ASSERT_OK(driver_.cuGraphAddChildGraphNode(&middle, graph, &before, 1, child));
  ASSERT_OK(driver_.cuGraphDestroy(child));
  for (int i = 0; i < 20; ++i) {
    Run(graph, NewStream());
    EXPECT_EQ(2, Read(block, 1)[0]);
  }
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(GraphTest, UpdateTakesNewParametersOfTheSameShape) {
  const CUdeviceptr block = Allocate(kMiB);
  CUstream stream = NewStream();
  CUgraph graphs[2] = {};
  for (int i = 0; i < 2; ++i) {
    Begin(stream);
    ASSERT_OK(driver_.cuMemsetD8Async(block, static_cast<unsigned char>(5 + i), kMiB, stream));
    ASSERT_OK(driver_.cuStreamEndCapture(stream, &graphs[i]));
  }
  CUgraphExec executable = nullptr;
  CUgraphExecUpdateResultInfo info = {};
  ASSERT_OK(driver_.cuGraphInstantiate(&executable, graphs[0], 0));
  ASSERT_OK(driver_.cuGraphExecUpdate(executable, graphs[1], &info));
  ASSERT_OK(driver_.cuGraphLaunch(executable, stream));
  EXPECT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(6, Read(block, 1)[0]);
  CUgraphNode extra = nullptr;
  ASSERT_OK(driver_.cuGraphAddEmptyNode(&extra, graphs[1], nullptr, 0));
  EXPECT_CUDA(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
              driver_.cuGraphExecUpdate(executable, graphs[1], &info));
  EXPECT_EQ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, info.result);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
  for (CUgraph graph : graphs) EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(GraphTest, CapturedAllocationOutlivesItsGraph) {
  CUstream stream = NewStream();
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  CUdeviceptr block = 0;
  const size_t before = FreeBytes();
  Begin(stream);
  ASSERT_OK(driver_.cuMemAllocAsync(&block, 8 * kMiB, stream));
  ASSERT_OK(driver_.cuMemsetD8Async(block, 12, 8 * kMiB, stream));
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  size_t count = 0;
  ASSERT_OK(driver_.cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(2u, count);
  EXPECT_EQ(before, FreeBytes()) << "nothing is allocated by capturing";
  ASSERT_OK(driver_.cuGraphInstantiate(&executable, graph, 0));
  ASSERT_OK(driver_.cuGraphDestroy(graph));
  ASSERT_OK(driver_.cuGraphLaunch(executable, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_LE(FreeBytes(), before - 8 * kMiB);
  EXPECT_EQ(12, Read(block + 8 * kMiB - 1, 1)[0]);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphLaunch(executable, stream))
      << "what the launch before allocated is not freed";
  EXPECT_OK(driver_.cuMemFreeAsync(block, stream)) << "freed outside of the graph";
  ASSERT_OK(driver_.cuGraphLaunch(executable, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
  EXPECT_EQ(12, Read(block, 1)[0]) << "destroying frees nothing";
  EXPECT_OK(driver_.cuMemFree(block));
  EXPECT_LE(FreeBytes(), before - 8 * kMiB) << "kept for other graphs";
  const size_t kept = FreeBytes();
  ASSERT_OK(driver_.cuDeviceGraphMemTrim(device_));
  EXPECT_GE(FreeBytes(), kept + 8 * kMiB) << "until it is trimmed";
}

TEST_F(CaptureTest, AGraphDoesNotEndWhileItIsCaptured) {
  const CUdeviceptr block = Allocate(kMiB);
  CUstream stream = NewStream();
  Begin(stream);
  ASSERT_OK(driver_.cuMemsetD8Async(block, 1, kMiB, stream));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  ASSERT_OK(
      driver_.cuStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
  ASSERT_NE(nullptr, graph);
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE, driver_.cuGraphDestroy(graph));
  EXPECT_OK(driver_.cuMemsetD8Async(block, 2, kMiB, stream)) << "and the capture goes on";
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  Run(graph, stream);
  EXPECT_EQ(2, Read(block, 1)[0]);
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

// The documentation does not describe the behaviour that this test and the next one check.
TEST_F(UndefinedCaptureTest, WhatADeviceKeepsForGraphsEndsWithAContext) {
  const size_t before = FreeBytes();
  CUcontext own = nullptr;
  ASSERT_OK(driver_.cuCtxCreate(&own, nullptr, 0, device_));
  CUstream stream = nullptr;
  ASSERT_OK(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Begin(stream);
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAllocAsync(&block, 8 * kMiB, stream));
  ASSERT_OK(driver_.cuMemFreeAsync(block, stream));
  CUgraph graph = nullptr;
  ASSERT_OK(driver_.cuStreamEndCapture(stream, &graph));
  Run(graph, stream);
  ASSERT_OK(driver_.cuGraphDestroy(graph));
  const size_t kept = FreeBytes();
  ASSERT_OK(driver_.cuCtxDestroy(own));
  EXPECT_LE(kept, before - 8 * kMiB);
  EXPECT_EQ(before, FreeBytes());
}

TEST_F(UndefinedCaptureTest, AStreamMayEndWhileItCaptures) {
  CUstream stream = nullptr;
  ASSERT_OK(driver_.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  Begin(stream);
  driver_.cuStreamDestroy(stream);  // the result does not matter
  EXPECT_OK(driver_.cuCtxSynchronize());
}

TEST_F(PoolTest, SameStreamGetsItsFreedMemoryAtOnce) {
  CUstream stream = NewStream();
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  ASSERT_OK(driver_.cuMemAllocAsync(&first, 10 * kMiB, stream));
  ASSERT_OK(driver_.cuMemFreeAsync(first, stream));
  ASSERT_OK(driver_.cuMemAllocAsync(&second, 10 * kMiB, stream));
  EXPECT_EQ(first, second);
  EXPECT_OK(driver_.cuMemFreeAsync(second, stream));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemFreeAsync(second, stream));
}

TEST_F(PoolTest, WorkBeforeTheFreeIsUnharmed) {
  CUstream stream = NewStream();
  CUdeviceptr block = 0;
  const CUdeviceptr kept = Allocate(kMiB);
  ASSERT_OK(driver_.cuMemAllocAsync(&block, kMiB, stream));
  ASSERT_OK(driver_.cuMemsetD8Async(block, 66, kMiB, stream));
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(kept, block, kMiB, stream));
  ASSERT_OK(driver_.cuMemFreeAsync(block, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(66, Read(kept, 1)[0]);
}

TEST_F(PoolTest, ThresholdKeepsMemoryOverSynchronization) {
  CUmemoryPool pool = nullptr;
  CUmemPoolProps wish = {};
  wish.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wish.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wish.location.id = device_;
  ASSERT_OK(driver_.cuMemPoolCreate(&pool, &wish));
  CUstream stream = NewStream();
  const auto cycle = [&] {
    CUdeviceptr block = 0;
    EXPECT_OK(driver_.cuMemAllocFromPoolAsync(&block, 64 * kMiB, pool, stream));
    EXPECT_OK(driver_.cuMemFreeAsync(block, stream));
    EXPECT_OK(driver_.cuStreamSynchronize(stream));
  };
  const auto reserved = [&] {
    cuuint64_t bytes = 1;
    EXPECT_OK(driver_.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
    return bytes;
  };
  cycle();
  EXPECT_EQ(0u, reserved()) << "the threshold is 0 at first";
  cuuint64_t threshold = ~cuuint64_t{0};
  ASSERT_OK(driver_.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  cycle();
  EXPECT_GE(reserved(), 64 * kMiB);
  ASSERT_OK(driver_.cuMemPoolTrimTo(pool, 0));
  EXPECT_EQ(0u, reserved());
  cuuint64_t high = 0;
  ASSERT_OK(driver_.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &high));
  EXPECT_GE(high, 64 * kMiB);
  EXPECT_OK(driver_.cuMemPoolDestroy(pool));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemPoolTrimTo(pool, 0));
}

TEST_F(PoolTest, DefaultPoolIsCurrentAndStays) {
  CUmemoryPool standard = nullptr;
  CUmemoryPool current = nullptr;
  ASSERT_OK(driver_.cuDeviceGetDefaultMemPool(&standard, device_));
  ASSERT_OK(driver_.cuDeviceGetMemPool(&current, device_));
  EXPECT_EQ(standard, current);
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemPoolDestroy(standard));
}

TEST_F(PoolTest, PlainFreeTakesPoolMemoryToo) {
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuMemAllocAsync(&block, kMiB, NewStream()));
  EXPECT_OK(driver_.cuMemFree(block));
}

TEST_F(PoolTest, TooMuchIsOutOfMemory) {
  CUdeviceptr block = 0;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
              driver_.cuMemAllocAsync(&block, size_t{1} << 45, NewStream()));
}

}  // namespace
}  // namespace vramstow::simulator
