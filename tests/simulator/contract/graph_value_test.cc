// Tests stream memory operations in graphs, both captured and added as nodes.
#include <string.h>

#include <atomic>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

CUstreamBatchMemOpParams Write(CUdeviceptr address, uint32_t value) {
  CUstreamBatchMemOpParams operation = {};
  operation.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operation.writeValue.address = address;
  operation.writeValue.value = value;
  return operation;
}

CUstreamBatchMemOpParams Wait(CUdeviceptr address, uint32_t value) {
  CUstreamBatchMemOpParams operation = {};
  operation.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operation.waitValue.address = address;
  operation.waitValue.value = value;
  operation.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  return operation;
}

class GraphValueTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    flags_ = Allocate(64);
    stream_ = NewStream();
    ASSERT_OK(driver_.cuMemsetD8(flags_, 0, 64));
    ASSERT_OK(driver_.cuCtxSynchronize());
  }
  void TearDown() override {
    if (executable_ != nullptr) {
      EXPECT_OK(driver_.cuGraphExecDestroy(executable_));
    }
    if (graph_ != nullptr) {
      EXPECT_OK(driver_.cuGraphDestroy(graph_));
    }
    ContractTest::TearDown();
  }
  uint32_t At(size_t place) {
    uint32_t value = 0;
    memcpy(&value, Read(flags_ + place, 4).data(), 4);
    return value;
  }
  CUDA_BATCH_MEM_OP_NODE_PARAMS BatchOf(std::vector<CUstreamBatchMemOpParams>* operations) {
    return {context_, static_cast<unsigned>(operations->size()), operations->data(), 0};
  }
  CUgraphNode Add(std::vector<CUstreamBatchMemOpParams> operations) {
    CUgraphNode node = nullptr;
    if (graph_ == nullptr) {
      EXPECT_OK(driver_.cuGraphCreate(&graph_, 0));
    }
    const CUDA_BATCH_MEM_OP_NODE_PARAMS batch = BatchOf(&operations);
    EXPECT_OK(driver_.cuGraphAddBatchMemOpNode(&node, graph_, nullptr, 0, &batch));
    return node;
  }
  void Instantiate() { ASSERT_OK(driver_.cuGraphInstantiate(&executable_, graph_, 0)); }
  void Launch() {
    ASSERT_OK(driver_.cuGraphLaunch(executable_, stream_));
    ASSERT_OK(driver_.cuStreamSynchronize(stream_));
  }

  CUdeviceptr flags_ = 0;
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

TEST_F(GraphValueTest, CapturedValuesAreWrittenAtEachLaunch) {
  CUstreamBatchMemOpParams batch[] = {Write(flags_ + 4, 6), Wait(flags_, 5), Write(flags_ + 8, 7)};
  ASSERT_OK(driver_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  ASSERT_OK(driver_.cuStreamWriteValue32(stream_, flags_, 5, 0));
  ASSERT_OK(driver_.cuStreamBatchMemOp(stream_, 3, batch, 0));
  ASSERT_OK(driver_.cuStreamWaitValue32(stream_, flags_ + 8, 7, CU_STREAM_WAIT_VALUE_EQ));
  ASSERT_OK(driver_.cuStreamWriteValue64(stream_, flags_ + 16, 8, 0));
  ASSERT_OK(driver_.cuStreamEndCapture(stream_, &graph_));
  size_t count = 0;
  ASSERT_OK(driver_.cuGraphGetNodes(graph_, nullptr, &count));
  std::vector<CUgraphNode> nodes(count);
  ASSERT_OK(driver_.cuGraphGetNodes(graph_, nodes.data(), &count));
  EXPECT_EQ(4u, count);
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    ASSERT_OK(driver_.cuGraphNodeGetType(node, &type));
    EXPECT_EQ(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, type);
  }
  EXPECT_EQ(0u, At(0)) << "captured, and not done";
  Instantiate();
  for (int i = 0; i < 2; ++i) {
    Launch();
    EXPECT_EQ(5u, At(0));
    EXPECT_EQ(6u, At(4));
    EXPECT_EQ(7u, At(8));
    EXPECT_EQ(8u, At(16));
    ASSERT_OK(driver_.cuMemsetD8(flags_, 0, 64));
    ASSERT_OK(driver_.cuCtxSynchronize());
  }
}

TEST_F(GraphValueTest, AWaitInAGraphHoldsBackWhatDependsOnIt) {
  void* host = nullptr;
  ASSERT_OK(driver_.cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
  auto* reported = static_cast<std::atomic<uint32_t>*>(host);
  *reported = 0;
  CUdeviceptr address = 0;
  ASSERT_OK(driver_.cuMemHostGetDevicePointer(&address, host, 0));
  Add({Wait(address, 1), Write(flags_, 9)});
  Instantiate();
  ASSERT_OK(driver_.cuGraphLaunch(executable_, stream_));
  EXPECT_CUDA(CUDA_ERROR_NOT_READY, driver_.cuStreamQuery(stream_));
  *reported = 1;
  ASSERT_OK(driver_.cuStreamSynchronize(stream_));
  EXPECT_EQ(9u, At(0));
  EXPECT_OK(driver_.cuMemFreeHost(host));
}

TEST_F(GraphValueTest, ABatchIsReadBackAndChanged) {
  CUgraphNode node = Add({Write(flags_, 1), Write(flags_ + 4, 2)});
  CUDA_BATCH_MEM_OP_NODE_PARAMS reported = {};
  ASSERT_OK(driver_.cuGraphBatchMemOpNodeGetParams(node, &reported));
  ASSERT_EQ(2u, reported.count);
  EXPECT_EQ(flags_ + 4, reported.paramArray[1].writeValue.address);
  EXPECT_EQ(2u, reported.paramArray[1].writeValue.value);
  std::vector<CUstreamBatchMemOpParams> other = {Write(flags_, 3)};
  CUDA_BATCH_MEM_OP_NODE_PARAMS changed = BatchOf(&other);
  ASSERT_OK(driver_.cuGraphBatchMemOpNodeSetParams(node, &changed));
  Instantiate();
  Launch();
  EXPECT_EQ(3u, At(0));
  EXPECT_EQ(0u, At(4));
  other[0] = Write(flags_, 4);
  ASSERT_OK(driver_.cuGraphExecBatchMemOpNodeSetParams(executable_, node, &changed));
  Launch();
  EXPECT_EQ(4u, At(0));
}

}  // namespace
}  // namespace vramstow::simulator
