// Tests graphs built by hand: nodes, edges, parameters, memory nodes, updates, user objects.
#include <string.h>

#include <algorithm>
#include <atomic>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class GraphRuleTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    ASSERT_OK(driver_.cuGraphCreate(&graph_, 0));
  }
  void TearDown() override {
    if (graph_ != nullptr) {
      EXPECT_OK(driver_.cuGraphDestroy(graph_));
    }
    ContractTest::TearDown();
  }
  CUgraphNode Fill(CUdeviceptr at, unsigned char value, std::vector<CUgraphNode> before = {},
                   size_t bytes = 64) {
    CUgraphNode node = nullptr;
    const CUDA_MEMSET_NODE_PARAMS fill = FillOf(at, value, bytes);
    EXPECT_OK(
        driver_.cuGraphAddMemsetNode(&node, graph_, before.data(), before.size(), &fill, context_));
    return node;
  }
  CUgraphNode Empty(std::vector<CUgraphNode> before = {}) {
    CUgraphNode node = nullptr;
    EXPECT_OK(driver_.cuGraphAddEmptyNode(&node, graph_, before.data(), before.size()));
    return node;
  }
  CUgraphNode Host(CUhostFn function, void* user, std::vector<CUgraphNode> before = {}) {
    CUgraphNode node = nullptr;
    const CUDA_HOST_NODE_PARAMS host = {function, user};
    EXPECT_OK(driver_.cuGraphAddHostNode(&node, graph_, before.data(), before.size(), &host));
    return node;
  }
  static CUDA_MEMSET_NODE_PARAMS FillOf(CUdeviceptr at, unsigned char value, size_t bytes) {
    CUDA_MEMSET_NODE_PARAMS fill = {};
    fill.dst = at;
    fill.value = value;
    fill.elementSize = 1;
    fill.width = bytes;
    fill.height = 1;
    return fill;
  }
  CUgraphExec Instantiate() {
    CUgraphExec executable = nullptr;
    EXPECT_OK(driver_.cuGraphInstantiate(&executable, graph_, 0));
    return executable;
  }
  void Launch(CUgraphExec executable, CUstream stream = nullptr) {
    ASSERT_OK(driver_.cuGraphLaunch(executable, stream));
    ASSERT_OK(driver_.cuStreamSynchronize(stream));
  }
  CUmemPoolProps PoolOfDevice() {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = device_;
    return properties;
  }
  CUgraphNode AllocateIn(size_t bytes, CUdeviceptr* address) {
    CUDA_MEM_ALLOC_NODE_PARAMS given = {};
    given.poolProps = PoolOfDevice();
    given.bytesize = bytes;
    CUgraphNode node = nullptr;
    EXPECT_OK(driver_.cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &given));
    *address = given.dptr;
    return node;
  }

  CUgraph graph_ = nullptr;
};

TEST_F(GraphRuleTest, NodesRunAfterWhatTheyDependOn) {
  const CUdeviceptr block = Allocate(64);
  CUgraphNode last = nullptr;
  for (unsigned char value = 1; value <= 30; ++value) {
    last = last == nullptr ? Fill(block, value) : Fill(block, value, {last});
  }
  CUgraphExec executable = Instantiate();
  for (int i = 0; i < 5; ++i) {
    Launch(executable);
    EXPECT_EQ(30, Read(block, 1)[0]);
  }
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, CycleIsRefusedWhenInstantiated) {
  CUgraphNode first = Empty();
  CUgraphNode second = Empty({first});
  EXPECT_OK(driver_.cuGraphAddDependencies(graph_, &second, &first, nullptr, 1));
  CUgraphExec executable = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphInstantiate(&executable, graph_, 0));
}

TEST_F(GraphRuleTest, EdgeIsAddedOnceAndRemovedOnce) {
  CUgraphNode first = Empty();
  CUgraphNode second = Empty();
  EXPECT_OK(driver_.cuGraphAddDependencies(graph_, &first, &second, nullptr, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuGraphAddDependencies(graph_, &first, &second, nullptr, 1));
  EXPECT_OK(driver_.cuGraphRemoveDependencies(graph_, &first, &second, nullptr, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuGraphRemoveDependencies(graph_, &first, &second, nullptr, 1));
}

TEST_F(GraphRuleTest, DependenciesAreToldFromBothEnds) {
  CUgraphNode first = Empty();
  CUgraphNode second = Empty();
  CUgraphNode third = Empty({first, second});
  size_t count = 0;
  ASSERT_OK(driver_.cuGraphNodeGetDependencies(third, nullptr, nullptr, &count));
  EXPECT_EQ(2u, count);
  CUgraphNode nodes[4] = {};
  count = 4;
  ASSERT_OK(driver_.cuGraphNodeGetDependencies(third, nodes, nullptr, &count));
  EXPECT_EQ(2u, count) << "documented: how many were given";
  EXPECT_EQ(nullptr, nodes[2]) << "documented: the rest is null";
  count = 1;
  ASSERT_OK(driver_.cuGraphNodeGetDependentNodes(first, nodes, nullptr, &count));
  EXPECT_EQ(third, nodes[0]);
}

TEST_F(GraphRuleTest, RootsHaveNoDependencies) {
  CUgraphNode first = Empty();
  Empty({first});
  CUgraphNode other = Empty();
  size_t count = 0;
  ASSERT_OK(driver_.cuGraphGetRootNodes(graph_, nullptr, &count));
  EXPECT_EQ(2u, count);
  CUgraphNode roots[2] = {};
  ASSERT_OK(driver_.cuGraphGetRootNodes(graph_, roots, &count));
  EXPECT_NE(roots + 2, std::find(roots, roots + 2, first));
  EXPECT_NE(roots + 2, std::find(roots, roots + 2, other));
}

TEST_F(GraphRuleTest, DestroyedNodeLeavesItsEdges) {
  CUgraphNode first = Empty();
  CUgraphNode second = Empty({first});
  Empty({second});
  ASSERT_OK(driver_.cuGraphDestroyNode(second));
  size_t count = 9;
  ASSERT_OK(driver_.cuGraphGetEdges(graph_, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(0u, count);
  ASSERT_OK(driver_.cuGraphGetNodes(graph_, nullptr, &count));
  EXPECT_EQ(2u, count);
}

TEST_F(GraphRuleTest, NodeOfAnotherGraphIsNoDependency) {
  CUgraph other = nullptr;
  CUgraphNode stranger = nullptr;
  ASSERT_OK(driver_.cuGraphCreate(&other, 0));
  ASSERT_OK(driver_.cuGraphAddEmptyNode(&stranger, other, nullptr, 0));
  CUgraphNode node = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphAddEmptyNode(&node, graph_, &stranger, 1));
  EXPECT_OK(driver_.cuGraphDestroy(other));
}

TEST_F(GraphRuleTest, TypesAreTold) {
  const CUdeviceptr block = Allocate(64);
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
  ASSERT_OK(driver_.cuGraphNodeGetType(Empty(), &type));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_EMPTY, type);
  ASSERT_OK(driver_.cuGraphNodeGetType(Fill(block, 1), &type));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_MEMSET, type);
  ASSERT_OK(driver_.cuGraphNodeGetType(Host([](void*) {}, nullptr), &type));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_HOST, type);
}

TEST_F(GraphRuleTest, FillParametersComeBackAndChange) {
  const CUdeviceptr block = Allocate(64);
  CUgraphNode node = Fill(block, 5);
  CUDA_MEMSET_NODE_PARAMS got = {};
  ASSERT_OK(driver_.cuGraphMemsetNodeGetParams(node, &got));
  EXPECT_EQ(block, got.dst);
  EXPECT_EQ(5u, got.value);
  got.value = 6;
  ASSERT_OK(driver_.cuGraphMemsetNodeSetParams(node, &got));
  CUgraphExec executable = Instantiate();
  Launch(executable);
  EXPECT_EQ(6, Read(block, 1)[0]);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, ExecutableKeepsWhatItWasMadeFrom) {
  const CUdeviceptr block = Allocate(64);
  CUgraphNode node = Fill(block, 7);
  CUgraphExec executable = Instantiate();
  const CUDA_MEMSET_NODE_PARAMS later = FillOf(block, 8, 64);
  ASSERT_OK(driver_.cuGraphMemsetNodeSetParams(node, &later));
  Launch(executable);
  EXPECT_EQ(7, Read(block, 1)[0]) << "documented: changes to the graph do not reach it";
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, ExecutableOutlivesItsGraph) {
  const CUdeviceptr block = Allocate(64);
  Fill(block, 17);
  CUgraphExec executable = Instantiate();
  ASSERT_OK(driver_.cuGraphDestroy(graph_));
  graph_ = nullptr;
  Launch(executable);
  EXPECT_EQ(17, Read(block, 1)[0]);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, DisabledNodeDoesNothing) {
  const CUdeviceptr block = Allocate(64);
  ASSERT_OK(driver_.cuMemsetD8(block, 1, 64));
  CUgraphNode node = Fill(block, 2);
  CUgraphExec executable = Instantiate();
  ASSERT_OK(driver_.cuGraphNodeSetEnabled(executable, node, 0));
  unsigned enabled = 1;
  ASSERT_OK(driver_.cuGraphNodeGetEnabled(executable, node, &enabled));
  EXPECT_EQ(0u, enabled);
  Launch(executable);
  EXPECT_EQ(1, Read(block, 1)[0]);
  ASSERT_OK(driver_.cuGraphNodeSetEnabled(executable, node, 1));
  Launch(executable);
  EXPECT_EQ(2, Read(block, 1)[0]);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, HostNodeOfAnExecutableIsChanged) {
  std::atomic<int> calls{0};
  CUgraphNode node = Host([](void* user) { ++*static_cast<std::atomic<int>*>(user); }, &calls);
  CUgraphExec executable = Instantiate();
  Launch(executable);
  EXPECT_EQ(1, calls);
  const CUDA_HOST_NODE_PARAMS other = {
      [](void* user) { *static_cast<std::atomic<int>*>(user) += 10; }, &calls};
  ASSERT_OK(driver_.cuGraphExecHostNodeSetParams(executable, node, &other));
  Launch(executable);
  EXPECT_EQ(11, calls);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, UpdateOfAnotherShapeIsRefused) {
  Empty();
  CUgraphExec executable = Instantiate();
  Empty();
  CUgraphExecUpdateResultInfo info = {};
  EXPECT_CUDA(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
              driver_.cuGraphExecUpdate(executable, graph_, &info));
  EXPECT_EQ(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, info.result);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, CloneHasItsOwnNodesAndFindsThem) {
  const CUdeviceptr block = Allocate(64);
  CUgraphNode node = Fill(block, 21);
  CUgraph clone = nullptr;
  ASSERT_OK(driver_.cuGraphClone(&clone, graph_));
  CUgraphNode found = nullptr;
  ASSERT_OK(driver_.cuGraphNodeFindInClone(&found, node, clone));
  EXPECT_NE(node, found);
  const CUDA_MEMSET_NODE_PARAMS other = FillOf(block, 22, 64);
  ASSERT_OK(driver_.cuGraphMemsetNodeSetParams(found, &other));
  CUDA_MEMSET_NODE_PARAMS got = {};
  ASSERT_OK(driver_.cuGraphMemsetNodeGetParams(node, &got));
  EXPECT_EQ(21u, got.value) << "the original stays";
  EXPECT_OK(driver_.cuGraphDestroy(clone));
}

TEST_F(GraphRuleTest, EventNodesRecordForOtherStreams) {
  const CUdeviceptr block = Allocate(64);
  CUevent event = NewEvent(CU_EVENT_DISABLE_TIMING);
  CUgraphNode fill = Fill(block, 33);
  CUgraphNode record = nullptr;
  ASSERT_OK(driver_.cuGraphAddEventRecordNode(&record, graph_, &fill, 1, event));
  CUgraphExec executable = Instantiate();
  CUstream first = NewStream();
  CUstream second = NewStream();
  ASSERT_OK(driver_.cuGraphLaunch(executable, first));
  ASSERT_OK(driver_.cuStreamWaitEvent(second, event, 0));
  const CUdeviceptr copy = Allocate(64);
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(copy, block, 64, second));
  ASSERT_OK(driver_.cuStreamSynchronize(second));
  EXPECT_EQ(33, Read(copy, 1)[0]);
  ASSERT_OK(driver_.cuStreamSynchronize(first));
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, EventThatWasDestroyedStaysWithItsGraph) {
  constexpr size_t kSize = 128 * kMiB;
  const CUdeviceptr block = Allocate(kSize);
  CUevent waited = nullptr;
  CUevent recorded = nullptr;
  ASSERT_OK(driver_.cuEventCreate(&waited, CU_EVENT_DISABLE_TIMING));
  ASSERT_OK(driver_.cuEventCreate(&recorded, CU_EVENT_DEFAULT));
  CUgraphNode nodes[2] = {};
  ASSERT_OK(driver_.cuGraphAddEventWaitNode(&nodes[0], graph_, nullptr, 0, waited));
  ASSERT_OK(driver_.cuGraphAddEventRecordNode(&nodes[1], graph_, nodes, 1, recorded));
  CUgraphExec executable = Instantiate();
  CUstream fills = NewStream();
  for (unsigned char value = 1; value < 5; ++value) {
    ASSERT_OK(driver_.cuMemsetD8Async(block, value, kSize, fills));
  }
  ASSERT_OK(driver_.cuEventRecord(waited, fills));
  ASSERT_OK(driver_.cuEventDestroy(recorded));
  ASSERT_OK(driver_.cuEventDestroy(waited));
  CUevent others[] = {NewEvent(), NewEvent()};  // may lie where the destroyed ones lay
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuGraphLaunch(executable, stream));
  const CUdeviceptr copy = Allocate(64);
  ASSERT_OK(driver_.cuMemcpyDtoDAsync(copy, block + kSize - 64, 64, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(4, Read(copy, 1)[0]) << "the launch waited for the fills";
  for (CUevent other : others) {
    float time = 0;
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuEventElapsedTime(&time, other, other))
        << "nothing recorded it";
  }
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, NodeOfACaptureIsNotDestroyed) {
  const CUdeviceptr block = Allocate(64);
  CUgraphNode fill = Fill(block, 1);
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuStreamBeginCaptureToGraph(stream, graph_, &fill, nullptr, 1,
                                                CU_STREAM_CAPTURE_MODE_RELAXED));
  EXPECT_CUDA(CUDA_ERROR_ILLEGAL_STATE, driver_.cuGraphDestroyNode(fill));
  ASSERT_OK(driver_.cuMemsetD8Async(block, 2, 64, stream));
  CUgraph graph = nullptr;
  EXPECT_OK(driver_.cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(graph_, graph);
}

TEST_F(GraphRuleTest, LaunchesOfOneExecutableDoNotOverlap) {
  const CUdeviceptr block = Allocate(64);
  CUgraphNode first = Fill(block, 1);
  Fill(block, 2, {first});
  CUgraphExec executable = Instantiate();
  CUstream streams[] = {NewStream(), NewStream()};
  for (int i = 0; i < 20; ++i) ASSERT_OK(driver_.cuGraphLaunch(executable, streams[i % 2]));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(2, Read(block, 1)[0]);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, GraphMemoryHasItsAddressBeforeTheLaunch) {
  CUdeviceptr address = 0;
  CUgraphNode allocate = AllocateIn(2 * kMiB, &address);
  ASSERT_NE(0u, address);
  CUDA_MEM_ALLOC_NODE_PARAMS got = {};
  ASSERT_OK(driver_.cuGraphMemAllocNodeGetParams(allocate, &got));
  EXPECT_EQ(address, got.dptr);
  EXPECT_EQ(2 * kMiB, got.bytesize);
  CUgraphNode fill = Fill(address, 44, {allocate}, 2 * kMiB);
  CUgraphNode free = nullptr;
  ASSERT_OK(driver_.cuGraphAddMemFreeNode(&free, graph_, &fill, 1, address));
  CUgraphExec executable = Instantiate();
  Launch(executable);
  Launch(executable);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, GraphMemoryThatIsNotFreedIsTheApplications) {
  CUdeviceptr address = 0;
  CUgraphNode allocate = AllocateIn(2 * kMiB, &address);
  Fill(address, 55, {allocate}, 2 * kMiB);
  CUgraphExec executable = Instantiate();
  Launch(executable);
  EXPECT_EQ(55, Read(address + 2 * kMiB - 1, 1)[0]);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphLaunch(executable, nullptr))
      << "documented: not again before it is freed";
  EXPECT_OK(driver_.cuMemFree(address));
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphRuleTest, ALaunchKeepsItsMemoryWhenItsExecutableIsDestroyed) {
  CUdeviceptr address = 0;
  CUgraphNode allocate = AllocateIn(2 * kMiB, &address);
  CUgraphNode fill = Fill(address, 44, {allocate}, 2 * kMiB);
  CUgraphNode free = nullptr;
  ASSERT_OK(driver_.cuGraphAddMemFreeNode(&free, graph_, &fill, 1, address));
  CUgraphExec executable = Instantiate();
  ASSERT_OK(driver_.cuGraphDestroy(graph_));
  graph_ = nullptr;
  ASSERT_OK(driver_.cuGraphLaunch(executable, NewStream()));
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
  EXPECT_OK(driver_.cuCtxSynchronize());
}

TEST_F(GraphRuleTest, ANodeOfAnotherGraphFreesGraphMemory) {
  CUdeviceptr address = 0;
  CUgraphNode allocate = AllocateIn(2 * kMiB, &address);
  Fill(address, 55, {allocate}, 2 * kMiB);
  CUgraphExec executable = Instantiate();
  CUgraph other = nullptr;
  CUgraphNode free = nullptr;
  CUgraphExec freeing = nullptr;
  ASSERT_OK(driver_.cuGraphCreate(&other, 0));
  ASSERT_OK(driver_.cuGraphAddMemFreeNode(&free, other, nullptr, 0, address));
  ASSERT_OK(driver_.cuGraphInstantiate(&freeing, other, 0));
  for (int i = 0; i < 2; ++i) {
    Launch(executable);
    Launch(freeing);
  }
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemFree(address)) << "it is free";
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
  EXPECT_OK(driver_.cuGraphExecDestroy(freeing));
  EXPECT_OK(driver_.cuGraphDestroy(other));
}

TEST_F(GraphRuleTest, AGraphThatDoesNotFitTakesNoMemory) {
  size_t before = 0;
  size_t total = 0;
  ASSERT_OK(driver_.cuMemGetInfo(&before, &total));
  CUdeviceptr addresses[2] = {};
  AllocateIn(64 * kMiB, &addresses[0]);
  AllocateIn(total, &addresses[1]);
  CUgraphExec executable = nullptr;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, driver_.cuGraphInstantiate(&executable, graph_, 0));
  size_t after = 0;
  ASSERT_OK(driver_.cuMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
}

TEST_F(GraphRuleTest, OnlyGraphMemoryIsFreedByANode) {
  const CUdeviceptr plain = Allocate(kMiB);
  CUgraphNode free = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuGraphAddMemFreeNode(&free, graph_, nullptr, 0, plain));
}

TEST_F(GraphRuleTest, GraphMemoryIsCountedAndItsHighMarkReset) {
  uint64_t reserved = 0;
  CUdeviceptr address = 0;
  CUgraphNode allocate = AllocateIn(64 * kMiB, &address);
  CUgraphNode free = nullptr;
  ASSERT_OK(driver_.cuGraphAddMemFreeNode(&free, graph_, &allocate, 1, address));
  CUgraphExec executable = Instantiate();
  Launch(executable);
  ASSERT_OK(driver_.cuDeviceGetGraphMemAttribute(device_, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
                                                 &reserved));
  EXPECT_GE(reserved, 64 * kMiB);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
  EXPECT_OK(driver_.cuDeviceGraphMemTrim(device_));
  uint64_t zero = 0;
  EXPECT_OK(driver_.cuDeviceSetGraphMemAttribute(device_, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuDeviceSetGraphMemAttribute(
                                            device_, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero));
}

TEST_F(GraphRuleTest, UserObjectDiesWithItsLastReference) {
  static std::atomic<int> destroyed{0};
  destroyed = 0;
  CUuserObject object = nullptr;
  ASSERT_OK(driver_.cuUserObjectCreate(
      &object, nullptr, [](void*) { ++destroyed; }, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  ASSERT_OK(driver_.cuGraphRetainUserObject(graph_, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  EXPECT_EQ(0, destroyed);
  ASSERT_OK(driver_.cuGraphDestroy(graph_));
  graph_ = nullptr;
  ASSERT_OK(driver_.cuCtxSynchronize());
  for (int i = 0; i < 1000 && destroyed == 0; ++i) driver_.cuStreamQuery(nullptr);
  EXPECT_EQ(1, destroyed);
}

TEST_F(GraphRuleTest, AnExecutableKeepsTheUserObjectsOfItsGraph) {
  static std::atomic<int> destroyed{0};
  destroyed = 0;
  CUuserObject object = nullptr;
  ASSERT_OK(driver_.cuUserObjectCreate(
      &object, nullptr, [](void*) { ++destroyed; }, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  ASSERT_OK(driver_.cuGraphRetainUserObject(graph_, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  Fill(Allocate(64), 1);
  CUgraphExec executable = Instantiate();
  CUgraph clone = nullptr;
  ASSERT_OK(driver_.cuGraphClone(&clone, graph_));
  ASSERT_OK(driver_.cuGraphDestroy(graph_));
  graph_ = nullptr;
  Launch(executable);
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
  EXPECT_EQ(0, destroyed) << "the clone has it";
  ASSERT_OK(driver_.cuGraphDestroy(clone));
  ASSERT_OK(driver_.cuCtxSynchronize());
  for (int i = 0; i < 1000 && destroyed == 0; ++i) driver_.cuStreamQuery(nullptr);
  EXPECT_EQ(1, destroyed);
}

TEST_F(GraphRuleTest, DestroyedHandlesAreRefused) {
  CUgraph gone = nullptr;
  ASSERT_OK(driver_.cuGraphCreate(&gone, 0));
  ASSERT_OK(driver_.cuGraphDestroy(gone));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuGraphLaunch(nullptr, nullptr));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphCreate(nullptr, 0));
  CUgraph flagged = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphCreate(&flagged, 1));
}

TEST_F(GraphRuleTest, FillOfAnOddElementIsRefused) {
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(Allocate(64), 1, 8);
  fill.elementSize = 3;
  CUgraphNode node = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, context_));
}

TEST_F(GraphRuleTest, FillOfRowsUponEachOtherIsRefused) {
  CUDA_MEMSET_NODE_PARAMS fill = FillOf(Allocate(64), 1, 8);
  fill.pitch = 4;
  fill.height = 2;
  CUgraphNode node = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, context_));
}

}  // namespace
}  // namespace vramstow::simulator
