// Compares the workspaces of cuDNN 9.19 on an NVIDIA H100 (docs/card.md) with those of the
// stand-in.
#include <cudnn.h>

#include <cstdlib>

#include "tests/libraries/device_fixture.h"

namespace vramstow {
namespace {

// The tolerance of the comparison in bytes. On the H100 the additional memory of engines, besides
// tensors and sums, varied by up to 608 bytes.
constexpr int64_t kNear = 640;

struct Convolution {
  const char* where;  // in a ResNet-50 with 64 images, in 32-bit floats, channels first
  int channels_in;
  int channels_out;
  int extent;  // width and height of the input image
  int filter;
  int stride;
  int64_t forward;  // bytes; 0 if the model differs or it was not measured
  int64_t data;
  int64_t weights;
};

constexpr Convolution kSeen[] = {
    {"conv1", 3, 64, 224, 7, 2, 244093712, 0, 0},
    {"layer1.0.conv1", 64, 64, 56, 1, 1, 400, 400, 1048576},
    {"layer1.0.conv2", 64, 64, 56, 3, 1, 102908051, 102908051, 104972967},
    {"layer1.0.conv3", 64, 256, 56, 1, 1, 400, 400, 4194704},
    {"layer2.0.conv1", 256, 128, 56, 1, 1, 400, 400, 8389008},
    {"layer2.0.conv2", 128, 128, 56, 3, 2, 129040531, 129040531, 137298599},
    {"layer2.0.downsample", 256, 512, 56, 1, 2, 0, 308281491, 316670607},
    {"layer2.1.conv2", 128, 128, 28, 3, 1, 51970195, 51970195, 60228263},
    {"layer3.0.conv1", 512, 256, 28, 1, 1, 400, 400, 33554432},
    {"layer3.0.conv2", 256, 256, 28, 3, 2, 74973615, 66584723, 73663071},
    {"layer3.0.downsample", 512, 1024, 28, 1, 2, 154140819, 154140819, 162529839},
    {"layer3.1.conv2", 256, 256, 14, 3, 1, 36438447, 28049424, 35127903},
    {"layer3.1.conv3", 256, 1024, 14, 1, 1, 400, 400, 67108864},
    {"layer4.0.conv1", 1024, 512, 14, 1, 1, 400, 400, 85459503},
    {"layer4.0.conv2", 512, 512, 14, 3, 2, 41549840, 41549971, 50201327},
    {"layer4.0.downsample", 1024, 2048, 14, 1, 2, 77070483, 77070483, 77070352},
    {"layer4.1.conv1", 2048, 512, 7, 1, 1, 32112656, 32112787, 40501679},
    {"layer4.1.conv2", 512, 512, 7, 3, 1, 22282256, 22282256, 30933743},
};

class CudnnWorkspaceTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreateTensorDescriptor(&x_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreateTensorDescriptor(&y_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreateFilterDescriptor(&w_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(cudnnCreateConvolutionDescriptor(&convolution_), CUDNN_STATUS_SUCCESS);
  }
  void TearDown() override {
    cudnnDestroyConvolutionDescriptor(convolution_);
    cudnnDestroyFilterDescriptor(w_);
    cudnnDestroyTensorDescriptor(y_);
    cudnnDestroyTensorDescriptor(x_);
    EXPECT_EQ(cudnnDestroy(handle_), CUDNN_STATUS_SUCCESS);
  }

  void Describe(const Convolution& one) {
    const int padding = one.filter / 2;
    const int after = (one.extent + 2 * padding - one.filter) / one.stride + 1;
    cudnnSetTensor4dDescriptor(x_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 64, one.channels_in,
                               one.extent, one.extent);
    cudnnSetTensor4dDescriptor(y_, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 64, one.channels_out, after,
                               after);
    cudnnSetFilter4dDescriptor(w_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, one.channels_out,
                               one.channels_in, one.filter, one.filter);
    cudnnSetConvolution2dDescriptor(convolution_, padding, padding, one.stride, one.stride, 1, 1,
                                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  }

  static void ExpectNear(int64_t seen, size_t bytes, const char* where) {
    if (seen == 0) return;
    EXPECT_LE(std::abs(static_cast<int64_t>(bytes) - seen), kNear) << where << ": " << bytes;
  }

  cudnnHandle_t handle_ = nullptr;
  cudnnTensorDescriptor_t x_ = nullptr;
  cudnnTensorDescriptor_t y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
};

TEST_F(CudnnWorkspaceTest, ConvolutionsAskForWhatTheyTookOnAnH100) {
  for (const Convolution& one : kSeen) {
    Describe(one);
    size_t bytes = 0;
    ASSERT_EQ(cudnnGetConvolutionForwardWorkspaceSize(
                  handle_, x_, w_, convolution_, y_,
                  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &bytes),
              CUDNN_STATUS_SUCCESS);
    ExpectNear(one.forward, bytes, one.where);
    ASSERT_EQ(cudnnGetConvolutionBackwardDataWorkspaceSize(
                  handle_, w_, y_, convolution_, x_, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, &bytes),
              CUDNN_STATUS_SUCCESS);
    ExpectNear(one.data, bytes, one.where);
    ASSERT_EQ(cudnnGetConvolutionBackwardFilterWorkspaceSize(
                  handle_, x_, y_, convolution_, w_, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, &bytes),
              CUDNN_STATUS_SUCCESS);
    ExpectNear(one.weights, bytes, one.where);
  }
}

TEST_F(CudnnWorkspaceTest, ChannelsLastFloatsAreNotCopied) {
  Describe(kSeen[2]);
  cudnnSetTensor4dDescriptor(x_, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 64, 64, 56, 56);
  size_t bytes = 1;
  ASSERT_EQ(cudnnGetConvolutionForwardWorkspaceSize(
                handle_, x_, w_, convolution_, y_, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                &bytes),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(bytes, 0U);
}

TEST_F(CudnnWorkspaceTest, AnLstmOfTwoLayersTakesWhatItTookOnAnH100) {
  cudnnRNNDescriptor_t rnn = nullptr;
  cudnnDropoutDescriptor_t dropout = nullptr;
  cudnnRNNDataDescriptor_t data = nullptr;
  ASSERT_EQ(cudnnCreateRNNDescriptor(&rnn), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnCreateDropoutDescriptor(&dropout), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnSetDropoutDescriptor(dropout, handle_, 0, nullptr, 0, 0), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnSetRNNDescriptor_v8(
                rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT,
                CUDNN_DEFAULT_MATH, 512, 512, 512, 2, dropout, CUDNN_RNN_PADDED_IO_DISABLED),
            CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(cudnnCreateRNNDataDescriptor(&data), CUDNN_STATUS_SUCCESS);
  const std::vector<int> lengths(32, 128);
  ASSERT_EQ(
      cudnnSetRNNDataDescriptor(data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                                128, 32, 512, lengths.data(), nullptr),
      CUDNN_STATUS_SUCCESS);
  size_t work = 0;
  size_t reserve = 0;
  ASSERT_EQ(cudnnGetRNNTempSpaceSizes(handle_, rnn, CUDNN_FWD_MODE_TRAINING, data, &work, &reserve),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(work, 85197312U);
  EXPECT_EQ(reserve, 92274944U);
  cudnnDestroyRNNDataDescriptor(data);
  cudnnDestroyDropoutDescriptor(dropout);
  cudnnDestroyRNNDescriptor(rnn);
}

}  // namespace
}  // namespace vramstow
