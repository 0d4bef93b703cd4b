// Tests queries of graphs and of nodes of any kind.
#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class GraphQueryTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    ASSERT_OK(driver_.cuGraphCreate(&graph_, 0));
  }
  void TearDown() override {
    EXPECT_OK(driver_.cuGraphDestroy(graph_));
    ContractTest::TearDown();
  }
  CUgraphNode Empty() {
    CUgraphNode node = nullptr;
    EXPECT_OK(driver_.cuGraphAddEmptyNode(&node, graph_, nullptr, 0));
    return node;
  }

  CUgraph graph_ = nullptr;
};

TEST_F(GraphQueryTest, ANodeKnowsItsGraph) {
  NEEDS(cuGraphNodeGetContainingGraph);
  CUgraph found = nullptr;
  ASSERT_OK(driver_.cuGraphNodeGetContainingGraph(Empty(), &found));
  EXPECT_EQ(graph_, found);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphNodeGetContainingGraph(nullptr, &found));
}

TEST_F(GraphQueryTest, ANodesNumberTellsItApartWithinItsGraph) {
  NEEDS(cuGraphNodeGetLocalId);
  unsigned first = 0;
  unsigned second = 0;
  const CUgraphNode node = Empty();
  ASSERT_OK(driver_.cuGraphNodeGetLocalId(node, &first));
  ASSERT_OK(driver_.cuGraphNodeGetLocalId(Empty(), &second));
  EXPECT_NE(first, second);
  ASSERT_OK(driver_.cuGraphNodeGetLocalId(node, &second));
  EXPECT_EQ(first, second);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphNodeGetLocalId(node, nullptr));
}

TEST_F(GraphQueryTest, AToolsNumberTellsNodesOfAllGraphsApart) {
  NEEDS(cuGraphNodeGetToolsId);
  CUgraph other = nullptr;
  CUgraphNode node = nullptr;
  unsigned long long first = 0;
  unsigned long long second = 0;
  ASSERT_OK(driver_.cuGraphCreate(&other, 0));
  ASSERT_OK(driver_.cuGraphAddEmptyNode(&node, other, nullptr, 0));
  ASSERT_OK(driver_.cuGraphNodeGetToolsId(node, &first));
  ASSERT_OK(driver_.cuGraphNodeGetToolsId(Empty(), &second));
  EXPECT_NE(first, second);
  EXPECT_OK(driver_.cuGraphDestroy(other));
}

TEST_F(GraphQueryTest, GraphsAndExecutablesHaveNumbers) {
  NEEDS(cuGraphGetId);
  CUgraph other = nullptr;
  CUgraphExec executable = nullptr;
  unsigned first = 0;
  unsigned second = 0;
  ASSERT_OK(driver_.cuGraphCreate(&other, 0));
  ASSERT_OK(driver_.cuGraphGetId(graph_, &first));
  ASSERT_OK(driver_.cuGraphGetId(other, &second));
  EXPECT_NE(first, second);
  EXPECT_OK(driver_.cuGraphDestroy(other));
  ASSERT_OK(driver_.cuGraphInstantiate(&executable, graph_, 0));
  EXPECT_OK(driver_.cuGraphExecGetId(executable, &first));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphExecGetId(nullptr, &first));
  EXPECT_OK(driver_.cuGraphExecDestroy(executable));
}

TEST_F(GraphQueryTest, ParametersOfAnyKindComeThroughOneDoor) {
  NEEDS(cuGraphNodeGetParams);
  const CUdeviceptr block = Allocate(256);
  const CUDA_MEMSET_NODE_PARAMS fill = {block, 0, 7, 1, 64, 1};
  CUgraphNode node = nullptr;
  ASSERT_OK(driver_.cuGraphAddMemsetNode(&node, graph_, nullptr, 0, &fill, context_));
  CUgraphNodeParams parameters = {};
  ASSERT_OK(driver_.cuGraphNodeGetParams(node, &parameters));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_MEMSET, parameters.type);
  EXPECT_EQ(block, parameters.memset.dst);
  EXPECT_EQ(7u, parameters.memset.value);
  EXPECT_EQ(64u, parameters.memset.width);

  ASSERT_OK(driver_.cuGraphNodeGetParams(Empty(), &parameters));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_EMPTY, parameters.type);

  int user = 0;
  const CUDA_HOST_NODE_PARAMS host = {[](void*) {}, &user};
  ASSERT_OK(driver_.cuGraphAddHostNode(&node, graph_, nullptr, 0, &host));
  ASSERT_OK(driver_.cuGraphNodeGetParams(node, &parameters));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_HOST, parameters.type);
  EXPECT_EQ(&user, parameters.host.userData);

  const CUevent event = NewEvent();
  ASSERT_OK(driver_.cuGraphAddEventWaitNode(&node, graph_, nullptr, 0, event));
  ASSERT_OK(driver_.cuGraphNodeGetParams(node, &parameters));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_WAIT_EVENT, parameters.type);
  EXPECT_EQ(event, parameters.eventWait.event);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGraphNodeGetParams(node, nullptr));
}

TEST_F(GraphQueryTest, MemoryNodesSayWhatTheyAllocateAndFree) {
  NEEDS(cuGraphNodeGetParams);
  CUDA_MEM_ALLOC_NODE_PARAMS wish = {};
  wish.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  wish.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device_}};
  wish.bytesize = 4096;
  CUgraphNode node = nullptr;
  CUgraphNode last = nullptr;
  ASSERT_OK(driver_.cuGraphAddMemAllocNode(&node, graph_, nullptr, 0, &wish));
  ASSERT_OK(driver_.cuGraphAddMemFreeNode(&last, graph_, &node, 1, wish.dptr));
  CUgraphNodeParams parameters = {};
  ASSERT_OK(driver_.cuGraphNodeGetParams(node, &parameters));
  EXPECT_EQ(CU_GRAPH_NODE_TYPE_MEM_ALLOC, parameters.type);
  EXPECT_EQ(wish.dptr, parameters.alloc.dptr);
  EXPECT_EQ(4096u, parameters.alloc.bytesize);
  ASSERT_OK(driver_.cuGraphNodeGetParams(last, &parameters));
  EXPECT_EQ(wish.dptr, parameters.free.dptr);
}

}  // namespace
}  // namespace vramstow::simulator
