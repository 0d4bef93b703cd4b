// Tests the stand-in of cuDNN 8: its version numbers, and the functions for recurrent networks that
// cuDNN 9 does not have.
#include <cudnn.h>

#include <vector>

#include "tests/libraries/device_fixture.h"

using Steps = const cudnnTensorDescriptor_t*;

extern "C" {
cudnnStatus_t cudnnSetRNNDescriptor_v6(cudnnHandle_t, cudnnRNNDescriptor_t, int, int,
                                       cudnnDropoutDescriptor_t, cudnnRNNInputMode_t,
                                       cudnnDirectionMode_t, cudnnRNNMode_t, cudnnRNNAlgo_t,
                                       cudnnDataType_t);
cudnnStatus_t cudnnGetRNNParamsSize(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnTensorDescriptor_t,
                                    size_t*, cudnnDataType_t);
cudnnStatus_t cudnnGetRNNWorkspaceSize(cudnnHandle_t, cudnnRNNDescriptor_t, int, Steps, size_t*);
cudnnStatus_t cudnnGetRNNTrainingReserveSize(cudnnHandle_t, cudnnRNNDescriptor_t, int, Steps,
                                             size_t*);
cudnnStatus_t cudnnGetRNNLinLayerMatrixParams(cudnnHandle_t, cudnnRNNDescriptor_t, int,
                                              cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                              const void*, int, cudnnFilterDescriptor_t, void**);
cudnnStatus_t cudnnGetRNNLinLayerBiasParams(cudnnHandle_t, cudnnRNNDescriptor_t, int,
                                            cudnnTensorDescriptor_t, cudnnFilterDescriptor_t,
                                            const void*, int, cudnnFilterDescriptor_t, void**);
cudnnStatus_t cudnnRNNForwardTraining(cudnnHandle_t, cudnnRNNDescriptor_t, int, Steps, const void*,
                                      cudnnTensorDescriptor_t, const void*, cudnnTensorDescriptor_t,
                                      const void*, cudnnFilterDescriptor_t, const void*, Steps,
                                      void*, cudnnTensorDescriptor_t, void*,
                                      cudnnTensorDescriptor_t, void*, void*, size_t, void*, size_t);
}

namespace vramstow {
namespace {

constexpr auto kBadParam = static_cast<cudnnStatus_t>(3);  // of cuDNN 8
constexpr int kInput = 6;
constexpr int kHidden = 5;
constexpr int kBatch = 3;
constexpr int kSteps = 4;

class Cudnn8Test : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreateTensorDescriptor(&step_), CUDNN_STATUS_SUCCESS);
    const int dimensions[] = {kBatch, kInput, 1};
    const int strides[] = {kInput, 1, 1};
    ASSERT_EQ(cudnnSetTensorNdDescriptor(step_, CUDNN_DATA_FLOAT, 3, dimensions, strides),
              CUDNN_STATUS_SUCCESS);
    steps_.assign(kSteps, step_);
    ASSERT_EQ(cudnnCreateRNNDescriptor(&lstm_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnSetRNNDescriptor_v6(handle_, lstm_, kHidden, 1, nullptr, CUDNN_LINEAR_INPUT,
                                       CUDNN_UNIDIRECTIONAL, CUDNN_LSTM, CUDNN_RNN_ALGO_STANDARD,
                                       CUDNN_DATA_FLOAT),
              CUDNN_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(cudnnDestroyRNNDescriptor(lstm_), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnDestroyTensorDescriptor(step_), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnDestroy(handle_), CUDNN_STATUS_SUCCESS);
  }

  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t step_ = nullptr;
  std::vector<cudnnTensorDescriptor_t> steps_;
  cudnnRNNDescriptor_t lstm_ = nullptr;
};

TEST_F(Cudnn8Test, ItsReleaseAndItsStatusCodesAreThoseOfCudnn8) {
  EXPECT_EQ(cudnnGetVersion(), 8902u);
  EXPECT_EQ(cudnnSetStream(nullptr, nullptr), kBadParam);
  EXPECT_STREQ(cudnnGetErrorString(kBadParam), "CUDNN_STATUS_BAD_PARAM");
  EXPECT_STREQ(cudnnGetErrorString(static_cast<cudnnStatus_t>(9)), "CUDNN_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(cudnnGetErrorString(static_cast<cudnnStatus_t>(3000)), "CUDNN_UNKNOWN_STATUS");
}

TEST_F(Cudnn8Test, AnLstmsParametersLieOneAfterTheOther) {
  size_t bytes = 0;
  ASSERT_EQ(cudnnGetRNNParamsSize(handle_, lstm_, step_, &bytes, CUDNN_DATA_FLOAT),
            CUDNN_STATUS_SUCCESS);
  // There are four gates: matrices for the input and for the state, and two biases.
  ASSERT_EQ(bytes, 4u * 4 * (kHidden * kInput + kHidden * kHidden + 2 * kHidden));
  cudnnFilterDescriptor_t filter = nullptr;
  ASSERT_EQ(cudnnCreateFilterDescriptor(&filter), CUDNN_STATUS_SUCCESS);
  std::vector<char> weights(bytes);
  char* next = weights.data();
  for (int id = 0; id < 8; ++id) {
    void* address = nullptr;
    ASSERT_EQ(cudnnGetRNNLinLayerMatrixParams(handle_, lstm_, 0, step_, nullptr, weights.data(), id,
                                              filter, &address),
              CUDNN_STATUS_SUCCESS);
    cudnnDataType_t type{};
    cudnnTensorFormat_t format{};
    int count = 0;
    int dimensions[3] = {};
    ASSERT_EQ(cudnnGetFilterNdDescriptor(filter, 3, &type, &format, &count, dimensions),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(address, next);
    EXPECT_EQ(dimensions[0] * dimensions[1] * dimensions[2],
              id < 4 ? kHidden * kInput : kHidden * kHidden);
    next += sizeof(float) * dimensions[0] * dimensions[1] * dimensions[2];
  }
  for (int id = 0; id < 8; ++id, next += sizeof(float) * kHidden) {
    void* address = nullptr;
    ASSERT_EQ(cudnnGetRNNLinLayerBiasParams(handle_, lstm_, 0, step_, nullptr, weights.data(), id,
                                            filter, &address),
              CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(address, next);
  }
  EXPECT_EQ(next, weights.data() + bytes);
  void* address = nullptr;
  EXPECT_EQ(cudnnGetRNNLinLayerMatrixParams(handle_, lstm_, 0, step_, nullptr, weights.data(), 8,
                                            filter, &address),
            kBadParam);
  EXPECT_EQ(cudnnDestroyFilterDescriptor(filter), CUDNN_STATUS_SUCCESS);
}

TEST_F(Cudnn8Test, APassInsistsOnItsSpacesAndRuns) {
  SeenKernel seen("cudnn_rnn_forward");
  size_t work = 0;
  size_t reserve = 0;
  ASSERT_EQ(cudnnGetRNNWorkspaceSize(handle_, lstm_, kSteps, steps_.data(), &work),
            CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnGetRNNTrainingReserveSize(handle_, lstm_, kSteps, steps_.data(), &reserve),
            CUDNN_STATUS_SUCCESS);
  ASSERT_GT(work, 0u);
  ASSERT_GT(reserve, 0u);
  const auto forward = [&](size_t work_bytes, size_t reserve_bytes) {
    return cudnnRNNForwardTraining(handle_, lstm_, kSteps, steps_.data(), nullptr, nullptr, nullptr,
                                   nullptr, nullptr, nullptr, nullptr, steps_.data(), nullptr,
                                   nullptr, nullptr, nullptr, nullptr, nullptr, work_bytes, nullptr,
                                   reserve_bytes);
  };
  EXPECT_EQ(forward(work - 1, reserve), kBadParam);
  EXPECT_EQ(forward(work, reserve - 1), kBadParam);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_TRUE(seen.launches().empty());
  EXPECT_EQ(forward(work, reserve), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(seen.launches().size(), 1u);
  EXPECT_EQ(cudnnGetRNNWorkspaceSize(handle_, lstm_, 0, steps_.data(), &work), kBadParam);
}

}  // namespace
}  // namespace vramstow
