#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

class Graph : public testing::Test {
 protected:
  void SetUp() override { ASSERT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  void TearDown() override { ASSERT_CUDA(cudaStreamDestroy(stream_)); }

  // Instantiates `graph`, launches it `times` times and destroys both.
  void Launch(cudaGraph_t graph, int times) {
    cudaGraphExec_t executable = nullptr;
    ASSERT_CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int i = 0; i < times; ++i) {
      ASSERT_CUDA(cudaGraphLaunch(executable, stream_));
    }
    ASSERT_CUDA(cudaStreamSynchronize(stream_));
    ASSERT_CUDA(cudaGraphExecDestroy(executable));
    ASSERT_CUDA(cudaGraphDestroy(graph));
  }

  cudaStream_t stream_ = nullptr;
};

TEST_F(Graph, OfACaptureDoesItsWorkWhenLaunched) {
  DeviceBuffer from(8);
  DeviceBuffer to(8);
  ASSERT_CUDA(cudaMemset(to.get(), '.', 8));
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  ASSERT_CUDA(cudaMemsetAsync(from.get(), 'g', 8, stream_));
  ASSERT_CUDA(cudaMemcpyAsync(to.get(), from.get(), 8, cudaMemcpyDeviceToDevice, stream_));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  ASSERT_CUDA(cudaStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
  EXPECT_EQ(to.Read(8), "........");
  size_t nodes = 0;
  ASSERT_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 2u);
  Launch(graph, 2);
  EXPECT_EQ(to.Read(8), "gggggggg");
}

TEST_F(Graph, CaptureTellsItsGraphAndDependencies) {
  DeviceBuffer buffer(8);
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
  ASSERT_CUDA(cudaMemsetAsync(buffer.get(), 0, 8, stream_));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t capturing = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  size_t count = 0;
  ASSERT_CUDA(
      cudaStreamGetCaptureInfo(stream_, &status, &id, &capturing, &dependencies, nullptr, &count));
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  EXPECT_NE(capturing, nullptr);
  ASSERT_EQ(count, 1u);
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  ASSERT_CUDA(cudaGraphNodeGetType(dependencies[0], &type));
  EXPECT_EQ(type, cudaGraphNodeTypeMemset);
  ASSERT_CUDA(cudaStreamEndCapture(stream_, &graph));
  ASSERT_CUDA(cudaGraphDestroy(graph));
}

TEST_F(Graph, CaptureForbidsSynchronising) {
  cudaGraph_t graph = nullptr;
  ASSERT_CUDA(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeGlobal));
  EXPECT_FAILS(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  EXPECT_FAILS(cudaStreamEndCapture(stream_, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Graph, ModeOfTheThreadIsExchanged) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  ASSERT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  ASSERT_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
}

TEST_F(Graph, CanBeBuiltNodeByNode) {
  DeviceBuffer buffer(8);
  std::string to(8, '?');
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t memset = nullptr;
  cudaGraphNode_t copy = nullptr;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  cudaMemsetParams parameters = {};
  parameters.dst = buffer.get();
  parameters.value = 'n';
  parameters.elementSize = 1;
  parameters.width = 8;
  parameters.height = 1;
  ASSERT_CUDA(cudaGraphAddMemsetNode(&memset, graph, nullptr, 0, &parameters));
  ASSERT_CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, &memset, 1, to.data(), buffer.get(), 8,
                                       cudaMemcpyDeviceToHost));
  size_t count = 0;
  ASSERT_CUDA(cudaGraphNodeGetDependencies(copy, nullptr, nullptr, &count));
  EXPECT_EQ(count, 1u);
  cudaMemsetParams reported = {};
  ASSERT_CUDA(cudaGraphMemsetNodeGetParams(memset, &reported));
  EXPECT_EQ(reported.dst, buffer.get());
  EXPECT_EQ(reported.width, 8u);
  Launch(graph, 1);
  EXPECT_EQ(to, "nnnnnnnn");
}

TEST_F(Graph, RunsHostNodes) {
  int calls = 0;
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  cudaHostNodeParams parameters = {[](void* data) { ++*static_cast<int*>(data); }, &calls};
  ASSERT_CUDA(cudaGraphAddHostNode(&node, graph, nullptr, 0, &parameters));
  Launch(graph, 3);
  EXPECT_EQ(calls, 3);
}

TEST_F(Graph, UserObjectsDieWithTheirGraph) {
  int destroyed = 0;
  cudaUserObject_t object = nullptr;
  cudaGraph_t graph = nullptr;
  auto destroy = [](void* data) { ++*static_cast<int*>(data); };
  ASSERT_CUDA(
      cudaUserObjectCreate(&object, &destroyed, destroy, 1, cudaUserObjectNoDestructorSync));
  ASSERT_CUDA(cudaGraphCreate(&graph, 0));
  ASSERT_CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  EXPECT_EQ(destroyed, 0);
  ASSERT_CUDA(cudaGraphDestroy(graph));
  ASSERT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(destroyed, 1);
}

}  // namespace
}  // namespace vramstow
