#include <cudnn.h>

#include "tests/libraries/device_fixture.h"

namespace vramstow {
namespace {

class CudnnTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(cudnnDestroy(handle_), CUDNN_STATUS_SUCCESS); }

  static cudnnTensorDescriptor_t Tensor(cudnnTensorFormat_t format, cudnnDataType_t type,
                                        std::vector<int> dimensions) {
    cudnnTensorDescriptor_t tensor = nullptr;
    EXPECT_EQ(cudnnCreateTensorDescriptor(&tensor), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetTensorNdDescriptorEx(tensor, format, type,
                                           static_cast<int>(dimensions.size()), dimensions.data()),
              CUDNN_STATUS_SUCCESS);
    return tensor;
  }

  cudnnHandle_t handle_ = nullptr;
};

TEST_F(CudnnTest, TensorsKeepTheirShapeAndKnowTheirSize) {
  cudnnTensorDescriptor_t tensor = Tensor(CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, {2, 3, 4, 5});
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int count = 0;
  int dimensions[8] = {};
  int strides[8] = {};
  ASSERT_EQ(cudnnGetTensorNdDescriptor(tensor, 8, &type, &count, dimensions, strides),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(type, CUDNN_DATA_HALF);
  EXPECT_EQ(std::vector<int>(dimensions, dimensions + count), (std::vector<int>{2, 3, 4, 5}));
  EXPECT_EQ(std::vector<int>(strides, strides + count), (std::vector<int>{60, 1, 15, 3}));
  size_t bytes = 0;
  ASSERT_EQ(cudnnGetTensorSizeInBytes(tensor, &bytes), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 2u * 3 * 4 * 5 * 2);
  const int wrong[] = {1, 0, 3};
  EXPECT_EQ(cudnnSetTensorNdDescriptor(tensor, type, 3, wrong, wrong), CUDNN_STATUS_BAD_PARAM);
  char message[128] = {};
  cudnnGetLastErrorString(message, sizeof(message));
  EXPECT_NE(std::string(message).find("positive"), std::string::npos);
  EXPECT_EQ(cudnnDestroyTensorDescriptor(tensor), CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnTest, AConvolutionTellsItsWorkspaceInsistsOnItAndRunsOnItsStream) {
  SeenKernel seen("cudnn_convolution_forward");
  cudnnTensorDescriptor_t x = Tensor(CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, {2, 4, 16, 16});
  cudnnTensorDescriptor_t y = Tensor(CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, {2, 8, 16, 16});
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  ASSERT_EQ(cudnnCreateFilterDescriptor(&w), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NCHW, 8, 4, 3, 3),
            CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnCreateConvolutionDescriptor(&convolution), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnSetConvolution2dDescriptor(convolution, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                            CUDNN_DATA_FLOAT),
            CUDNN_STATUS_SUCCESS);
  int returned = 0;
  cudnnConvolutionFwdAlgoPerf_t results[4] = {};
  ASSERT_EQ(
      cudnnGetConvolutionForwardAlgorithm_v7(handle_, x, w, convolution, y, 4, &returned, results),
      CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(returned, 2);
  // Tensors of 16 bits that are not channels-last are copied: 4,096 + 768 (rounded) + 8,192 bytes.
  EXPECT_EQ(results[0].memory, 4096u + 768 + 8192);
  EXPECT_EQ(results[1].memory, 0u);
  size_t bytes = 0;
  ASSERT_EQ(cudnnGetConvolutionForwardWorkspaceSize(handle_, x, w, convolution, y, results[0].algo,
                                                    &bytes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, results[0].memory);
  const DeviceMemory memory(65536);
  void* p = memory.as<void>();
  const float one = 1;
  const float zero = 0;
  EXPECT_EQ(cudnnConvolutionForward(handle_, &one, x, p, w, p, convolution, results[0].algo,
                                    nullptr, 0, &zero, y, p),
            CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  EXPECT_EQ(cudnnConvolutionForward(handle_, &one, x, p, w, p, convolution, results[0].algo, p,
                                    bytes, &zero, y, p),
            CUDNN_STATUS_SUCCESS);
  EXPECT_TRUE(seen.launches().empty());
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(seen.launches().size(), 1u);
  cudnnTensorDescriptor_t wrong = Tensor(CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, {2, 8, 15, 16});
  EXPECT_EQ(cudnnConvolutionForward(handle_, &one, x, p, w, p, convolution, results[1].algo,
                                    nullptr, 0, &zero, wrong, p),
            CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  for (cudnnTensorDescriptor_t tensor : {x, y, wrong}) {
    cudnnDestroyTensorDescriptor(tensor);
  }
  cudnnDestroyFilterDescriptor(w);
  cudnnDestroyConvolutionDescriptor(convolution);
}

TEST_F(CudnnTest, BatchNormalisationTellsItsSizesAndInsistsOnThem) {
  SeenKernel seen("cudnn_batch_norm_forward");
  cudnnTensorDescriptor_t x = Tensor(CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, {4, 100, 8, 8});
  cudnnTensorDescriptor_t statistics = nullptr;
  ASSERT_EQ(cudnnCreateTensorDescriptor(&statistics), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnDeriveBNTensorDescriptor(statistics, x, CUDNN_BATCHNORM_SPATIAL),
            CUDNN_STATUS_SUCCESS);
  size_t bytes = 0;
  ASSERT_EQ(cudnnGetTensorSizeInBytes(statistics, &bytes), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 400u);
  size_t workspace = 0;
  ASSERT_EQ(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
                handle_, CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_OPS_BN, x, nullptr, x, statistics,
                nullptr, &workspace),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(workspace, 1024u);  // 100 channels, two floats each, rounded up
  size_t reserve = 1;
  ASSERT_EQ(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
                handle_, CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_OPS_BN, nullptr, x, &reserve),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(reserve, 0u);
  const DeviceMemory memory(1 << 20);
  void* p = memory.as<void>();
  const float one = 1;
  const float zero = 0;
  const auto forward = [&](size_t given) {
    return cudnnBatchNormalizationForwardTrainingEx(
        handle_, CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_OPS_BN, &one, &zero, x, p, nullptr,
        nullptr, x, p, statistics, p, p, 0.1, p, p, 1e-5, p, p, nullptr, p, given, nullptr, 0);
  };
  EXPECT_EQ(forward(workspace - 1), CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  EXPECT_EQ(forward(workspace), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(seen.launches().size(), 1u);
  cudnnDestroyTensorDescriptor(x);
  cudnnDestroyTensorDescriptor(statistics);
}

class LstmTest : public CudnnTest {
 protected:
  static constexpr int kInput = 32;
  static constexpr int kHidden = 64;
  static constexpr int kLayers = 2;

  void SetUp() override {
    CudnnTest::SetUp();
    ASSERT_EQ(cudnnCreateRNNDescriptor(&rnn_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreateDropoutDescriptor(&dropout_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnSetDropoutDescriptor(dropout_, handle_, 0, nullptr, 0, 0), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(
        cudnnSetRNNDescriptor_v8(rnn_, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                                 CUDNN_BIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT,
                                 CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, kInput, kHidden, kHidden,
                                 kLayers, dropout_, CUDNN_RNN_PADDED_IO_DISABLED),
        CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnGetRNNWeightSpaceSize(handle_, rnn_, &weight_bytes_), CUDNN_STATUS_SUCCESS);
  }
  void TearDown() override {
    cudnnDestroyRNNDescriptor(rnn_);
    cudnnDestroyDropoutDescriptor(dropout_);
    CudnnTest::TearDown();
  }

  cudnnRNNDescriptor_t rnn_ = nullptr;
  cudnnDropoutDescriptor_t dropout_ = nullptr;
  size_t weight_bytes_ = 0;
};

TEST_F(LstmTest, TheWeightsAreThoseOfTheTextbook) {
  // Each direction has 4 gates × hidden × (input + hidden) and two biases. The input of the second
  // layer is the output of both directions.
  const size_t first = 4 * kHidden * (kInput + kHidden) + 8 * kHidden;
  const size_t second = 4 * kHidden * (2 * kHidden + kHidden) + 8 * kHidden;
  EXPECT_EQ(weight_bytes_, 2 * (first + second) * sizeof(float));
}

TEST_F(LstmTest, GatesOfOneKindAreNeighboursAndNothingOverlaps) {
  char* const base = reinterpret_cast<char*>(uint64_t{1} << 40);
  cudnnTensorDescriptor_t matrix = Tensor(CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, {1, 1, 1});
  cudnnTensorDescriptor_t bias = Tensor(CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, {1, 1, 1});
  size_t covered = 0;
  for (int layer = 0; layer < 2 * kLayers; ++layer) {
    char* next = nullptr;
    for (int id = 0; id < 8; ++id) {
      void* matrix_address = nullptr;
      void* bias_address = nullptr;
      ASSERT_EQ(cudnnGetRNNWeightParams(handle_, rnn_, layer, weight_bytes_, base, id, matrix,
                                        &matrix_address, bias, &bias_address),
                CUDNN_STATUS_SUCCESS);
      size_t matrix_bytes = 0;
      size_t bias_bytes = 0;
      cudnnGetTensorSizeInBytes(matrix, &matrix_bytes);
      cudnnGetTensorSizeInBytes(bias, &bias_bytes);
      EXPECT_EQ(bias_bytes, kHidden * sizeof(float));
      if (id % 4 != 0) {
        EXPECT_EQ(matrix_address, next);
      }
      next = static_cast<char*>(matrix_address) + matrix_bytes;
      covered += matrix_bytes + bias_bytes;
    }
  }
  EXPECT_EQ(covered, weight_bytes_);
  // Any output pointer may be null. This network has no projection.
  void* address = base;
  EXPECT_EQ(cudnnGetRNNWeightParams(handle_, rnn_, 0, weight_bytes_, base, 8, nullptr, &address,
                                    nullptr, nullptr),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(cudnnGetRNNWeightParams(handle_, rnn_, 4, weight_bytes_, base, 0, nullptr, nullptr,
                                    nullptr, nullptr),
            CUDNN_STATUS_BAD_PARAM);
  cudnnDestroyTensorDescriptor(matrix);
  cudnnDestroyTensorDescriptor(bias);
}

TEST_F(LstmTest, TrainingNeedsAReserveAndInferenceDoesNot) {
  cudnnRNNDataDescriptor_t data = nullptr;
  ASSERT_EQ(cudnnCreateRNNDataDescriptor(&data), CUDNN_STATUS_SUCCESS);
  const int lengths[] = {10, 7, 3};
  ASSERT_EQ(
      cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                10, 3, kInput, lengths, nullptr),
      CUDNN_STATUS_SUCCESS);
  size_t work = 0;
  size_t reserve = 1;
  ASSERT_EQ(
      cudnnGetRNNTempSpaceSizes(handle_, rnn_, CUDNN_FWD_MODE_INFERENCE, data, &work, &reserve),
      CUDNN_STATUS_SUCCESS);
  EXPECT_GT(work, 0u);
  EXPECT_EQ(reserve, 0u);
  ASSERT_EQ(
      cudnnGetRNNTempSpaceSizes(handle_, rnn_, CUDNN_FWD_MODE_TRAINING, data, nullptr, &reserve),
      CUDNN_STATUS_SUCCESS);
  EXPECT_GT(reserve, 0u);
  const DeviceMemory memory(1 << 20);
  void* p = memory.as<void>();
  EXPECT_EQ(cudnnRNNForward(handle_, rnn_, CUDNN_FWD_MODE_TRAINING, nullptr, data, p, data, p,
                            nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, weight_bytes_, p,
                            work, p, reserve - 1, p),
            CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT);
  EXPECT_EQ(cudnnRNNForward(handle_, rnn_, CUDNN_FWD_MODE_TRAINING, nullptr, data, p, data, p,
                            nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, weight_bytes_, p,
                            work, p, reserve, p),
            CUDNN_STATUS_SUCCESS);
  const int too_long[] = {11, 1, 1};
  EXPECT_EQ(
      cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                10, 3, kInput, too_long, nullptr),
      CUDNN_STATUS_BAD_PARAM);
  cudnnDestroyRNNDataDescriptor(data);
}

TEST_F(CudnnTest, RefusesHandlesThatAreNone) {
  EXPECT_EQ(cudnnSetStream(nullptr, nullptr), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnCreate(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  size_t bytes = 0;
  EXPECT_EQ(cudnnDropoutGetStatesSize(nullptr, &bytes), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnnDropoutGetStatesSize(handle_, &bytes), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 132u * 2048 * 48);
  EXPECT_STREQ(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM");
}

}  // namespace
}  // namespace vramstow
