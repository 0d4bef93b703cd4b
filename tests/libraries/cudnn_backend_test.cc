#include <cudnn.h>

#include "tests/libraries/device_fixture.h"

namespace vramstow {
namespace {

// A backend descriptor that is destroyed at the end of its scope.
class Backend {
 public:
  explicit Backend(cudnnBackendDescriptorType_t type) {
    EXPECT_EQ(cudnnBackendCreateDescriptor(type, &descriptor_), CUDNN_STATUS_SUCCESS);
  }
  ~Backend() { EXPECT_EQ(cudnnBackendDestroyDescriptor(descriptor_), CUDNN_STATUS_SUCCESS); }
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <typename T>
  Backend& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               const std::vector<T>& values) {
    EXPECT_EQ(cudnnBackendSetAttribute(descriptor_, name, type, static_cast<int64_t>(values.size()),
                                       values.data()),
              CUDNN_STATUS_SUCCESS);
    return *this;
  }
  Backend& Refer(cudnnBackendAttributeName_t name, const Backend& other) {
    return Set<cudnnBackendDescriptor_t>(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, {other.get()});
  }
  Backend& Numbers(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    return Set<int64_t>(name, CUDNN_TYPE_INT64, values);
  }
  cudnnStatus_t Finalize() { return cudnnBackendFinalize(descriptor_); }

  int64_t Number(cudnnBackendAttributeName_t name) const {
    int64_t number = -1;
    int64_t count = 0;
    EXPECT_EQ(cudnnBackendGetAttribute(descriptor_, name, CUDNN_TYPE_INT64, 1, &count, &number),
              CUDNN_STATUS_SUCCESS);
    return number;
  }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

void MakeTensor(Backend* tensor, int64_t id, const std::vector<int64_t>& dimensions,
                const std::vector<int64_t>& strides) {
  tensor->Numbers(CUDNN_ATTR_TENSOR_UNIQUE_ID, {id})
      .Numbers(CUDNN_ATTR_TENSOR_DIMENSIONS, dimensions)
      .Numbers(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .Numbers(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16})
      .Set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_HALF});
  ASSERT_EQ(tensor->Finalize(), CUDNN_STATUS_SUCCESS);
}

// A graph of one convolution: x (2 × 4 × 16 × 16), w (8 × 4 × 3 × 3), y (2 × 8 × 16 × 16).
class CudnnBackendTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
    MakeTensor(&x_, 'x', {2, 4, 16, 16}, {1024, 256, 16, 1});
    MakeTensor(&w_, 'w', {8, 4, 3, 3}, {36, 9, 3, 1});
    MakeTensor(&y_, 'y', {2, 8, 16, 16}, {2048, 256, 16, 1});
    convolution_.Numbers(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
        .Numbers(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1, 1})
        .Numbers(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, {1, 1})
        .Numbers(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, {1, 1})
        .Numbers(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, {1, 1})
        .Set<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                              {CUDNN_DATA_FLOAT})
        .Set<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                                     {CUDNN_CROSS_CORRELATION});
    ASSERT_EQ(convolution_.Finalize(), CUDNN_STATUS_SUCCESS);
    operation_.Refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution_)
        .Refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x_)
        .Refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w_)
        .Refer(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y_);
    ASSERT_EQ(operation_.Finalize(), CUDNN_STATUS_SUCCESS);
    graph_.Refer(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_)
        .Set<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle_});
    ASSERT_EQ(graph_.Finalize(), CUDNN_STATUS_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(cudnnDestroy(handle_), CUDNN_STATUS_SUCCESS); }

  // Queries the heuristics for up to `count` configurations; returns how many there are.
  int64_t Ask(cudnnBackendHeurMode_t mode, std::vector<cudnnBackendDescriptor_t> configurations) {
    Backend heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.Refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_)
        .Set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {mode});
    EXPECT_EQ(heuristics.Finalize(), CUDNN_STATUS_SUCCESS);
    int64_t count = -1;
    EXPECT_EQ(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                       static_cast<int64_t>(configurations.size()), &count,
                                       configurations.empty() ? nullptr : configurations.data()),
              CUDNN_STATUS_SUCCESS);
    return count;
  }

  cudnnHandle_t handle_ = nullptr;
  Backend x_{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  Backend w_{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  Backend y_{CUDNN_BACKEND_TENSOR_DESCRIPTOR};
  Backend convolution_{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR};
  Backend operation_{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR};
  Backend graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

TEST_F(CudnnBackendTest, HeuristicsGiveAFastAndALeanConfiguration) {
  EXPECT_EQ(graph_.Number(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT), 2);
  EXPECT_EQ(Ask(CUDNN_HEUR_MODE_A, {}), 2);
  EXPECT_EQ(Ask(CUDNN_HEUR_MODE_FALLBACK, {}), 1);
  Backend fast(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  Backend lean(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  EXPECT_EQ(Ask(CUDNN_HEUR_MODE_A, {fast.get()}), 1) << "as many as there is room for";
  EXPECT_EQ(Ask(CUDNN_HEUR_MODE_A, {fast.get(), lean.get()}), 2);
  EXPECT_EQ(fast.Number(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE), 4096 + 768 + 8192);
  EXPECT_EQ(lean.Number(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE), 0);
}

TEST_F(CudnnBackendTest, APlanRunsAsOneKernelWithItsDataAndInsistsOnItsWorkspace) {
  SeenKernel seen("cudnn_execution_plan");
  Backend configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  ASSERT_EQ(Ask(CUDNN_HEUR_MODE_A, {configuration.get()}), 1);
  Backend plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.Set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle_})
      .Refer(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  ASSERT_EQ(plan.Finalize(), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(plan.Number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE), 4096 + 768 + 8192);
  const DeviceMemory memory(65536);
  void* p = memory.as<void>();
  Backend without(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  without.Numbers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {'x', 'w', 'y'})
      .Set<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, {p, p, p});
  ASSERT_EQ(without.Finalize(), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudnnBackendExecute(handle_, plan.get(), without.get()),
            CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  Backend pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.Numbers(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {'x', 'w', 'y'})
      .Set<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, {p, p, p})
      .Set<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {p});
  EXPECT_EQ(cudnnBackendExecute(handle_, plan.get(), pack.get()),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  ASSERT_EQ(pack.Finalize(), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnBackendExecute(handle_, plan.get(), pack.get()), CUDNN_STATUS_SUCCESS);
  EXPECT_TRUE(seen.launches().empty());
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(seen.launches().size(), 1u);
  EXPECT_EQ(seen.launches()[0].words[3], 3u);
  EXPECT_EQ(seen.launches()[0].words[4], memory.address());
}

TEST_F(CudnnBackendTest, DescriptorsAreCompleteThenFrozen) {
  Backend tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(tensor.Finalize(), CUDNN_STATUS_BAD_PARAM);
  int64_t number = 0;
  EXPECT_EQ(cudnnBackendGetAttribute(tensor.get(), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1,
                                     nullptr, &number),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  EXPECT_EQ(
      cudnnBackendSetAttribute(x_.get(), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &number),
      CUDNN_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cudnnBackendGetAttribute(x_.get(), CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_DOUBLE, 1,
                                     nullptr, &number),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  Backend graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  const cudnnBackendDescriptor_t unfinished = tensor.get();
  EXPECT_EQ(cudnnBackendSetAttribute(graph.get(), CUDNN_ATTR_OPERATIONGRAPH_OPS,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &unfinished),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  cudnnBackendDescriptor_t none = nullptr;
  EXPECT_EQ(cudnnBackendCreateDescriptor(static_cast<cudnnBackendDescriptorType_t>(63), &none),
            CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_F(CudnnBackendTest, AConfigurationOutlivesTheDescriptorsThatMadeIt) {
  Backend configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  {
    Backend graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.Refer(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_);
    ASSERT_EQ(graph.Finalize(), CUDNN_STATUS_SUCCESS);
    Backend engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    engine.Refer(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph)
        .Numbers(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, {0});
    ASSERT_EQ(engine.Finalize(), CUDNN_STATUS_SUCCESS);
    configuration.Refer(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    ASSERT_EQ(configuration.Finalize(), CUDNN_STATUS_SUCCESS);
  }
  EXPECT_EQ(configuration.Number(CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE), 4096 + 768 + 8192);
}

}  // namespace
}  // namespace vramstow
