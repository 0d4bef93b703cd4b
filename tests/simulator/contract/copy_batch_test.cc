// Tests copies in batches and with attributes.
#include <numeric>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class CopyBatchTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    NEEDS(cuMemcpy3DBatchAsync);
    stream_ = NewStream();
    from_ = Allocate(256);
    to_ = Allocate(256);
    std::vector<unsigned char> bytes(256);
    std::iota(bytes.begin(), bytes.end(), 0);
    ASSERT_OK(driver_.cuMemcpyHtoD(from_, bytes.data(), 256));
    ASSERT_OK(driver_.cuMemsetD8(to_, 0xff, 256));
    ASSERT_OK(driver_.cuCtxSynchronize());  // no other stream waits for the fill
  }

  static CUmemcpy3DOperand At(CUdeviceptr address, size_t row = 0, size_t layer = 0) {
    CUmemcpy3DOperand operand = {};
    operand.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operand.op.ptr.ptr = address;
    operand.op.ptr.rowLength = row;
    operand.op.ptr.layerHeight = layer;
    return operand;
  }
  // Copies 4 x 2 x 2 bytes out of rows of 16 bytes and layers of 4 rows to memory without gaps.
  CUDA_MEMCPY3D_BATCH_OP Operation() const {
    CUDA_MEMCPY3D_BATCH_OP operation = {};
    operation.src = At(from_, 16, 4);
    operation.dst = At(to_);
    operation.extent = {4, 2, 2};
    operation.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    return operation;
  }

  CUstream stream_ = nullptr;
  CUdeviceptr from_ = 0;
  CUdeviceptr to_ = 0;
};

TEST_F(CopyBatchTest, RowsAndLayersStepAsSaidAndZeroMeansPacked) {
  CUDA_MEMCPY3D_BATCH_OP operation = Operation();
  ASSERT_OK(driver_.cuMemcpy3DBatchAsync(1, &operation, 0, stream_));
  ASSERT_OK(driver_.cuStreamSynchronize(stream_));
  const std::vector<unsigned char> expected = {0,  1,  2,  3,  16, 17, 18, 19,
                                               64, 65, 66, 67, 80, 81, 82, 83};
  EXPECT_EQ(expected, Read(to_, 16));
  EXPECT_EQ(0xff, Read(to_ + 16, 1)[0]);
}

TEST_F(CopyBatchTest, TheWholeBatchIsDoneInStreamOrder) {
  CUDA_MEMCPY3D_BATCH_OP operations[] = {Operation(), Operation()};
  operations[1].dst = At(to_ + 64);
  ASSERT_OK(driver_.cuMemcpy3DBatchAsync(2, operations, 0, stream_));
  ASSERT_OK(driver_.cuMemsetD8Async(to_, 7, 4, stream_));
  ASSERT_OK(driver_.cuStreamSynchronize(stream_));
  EXPECT_EQ((std::vector<unsigned char>{7, 7, 7, 7, 16}), Read(to_, 5));
  EXPECT_EQ((std::vector<unsigned char>{0, 1, 2, 3, 16}), Read(to_ + 64, 5));
}

TEST_F(CopyBatchTest, EmptyExtentsOrdersFlagsAndShortRowsAreRefused) {
  CUDA_MEMCPY3D_BATCH_OP operation = Operation();
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy3DBatchAsync(1, &operation, 1, stream_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy3DBatchAsync(1, nullptr, 0, stream_));
  operation.extent.height = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy3DBatchAsync(1, &operation, 0, stream_));
  operation = Operation();
  operation.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy3DBatchAsync(1, &operation, 0, stream_));
  operation = Operation();
  operation.src.op.ptr.rowLength = 3;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy3DBatchAsync(1, &operation, 0, stream_));
}

TEST_F(CopyBatchTest, TheDefaultStreamIsRefused) {
  CUDA_MEMCPY3D_BATCH_OP operation = Operation();
  EXPECT_NE(CUDA_SUCCESS, driver_.cuMemcpy3DBatchAsync(1, &operation, 0, nullptr));
}

TEST_F(CopyBatchTest, ArraysCountInElements) {
  CUDA_ARRAY_DESCRIPTOR shape = {8, 4, CU_AD_FORMAT_UNSIGNED_INT16, 1};
  CUarray array = nullptr;
  ASSERT_OK(driver_.cuArrayCreate(&array, &shape));
  CUDA_MEMCPY3D_BATCH_OP operation = Operation();
  operation.src = At(from_);
  operation.dst = {};
  operation.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  operation.dst.op.array.array = array;
  operation.dst.op.array.offset = {2, 1, 0};
  operation.extent = {2, 2, 1};
  ASSERT_OK(driver_.cuMemcpy3DBatchAsync(1, &operation, 0, stream_));
  ASSERT_OK(driver_.cuStreamSynchronize(stream_));
  unsigned char row[4] = {};
  CUDA_MEMCPY2D out = {};
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = array;
  out.srcXInBytes = 4;
  out.srcY = 1;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = row;
  out.dstPitch = 4;
  out.WidthInBytes = 4;
  out.Height = 1;
  ASSERT_OK(driver_.cuMemcpy2D(&out));
  EXPECT_EQ(0, row[0]);
  EXPECT_EQ(3, row[3]);
  EXPECT_OK(driver_.cuArrayDestroy(array));
}

TEST_F(CopyBatchTest, ACopyWithAttributesNeedsAnOrder) {
  NEEDS(cuMemcpyWithAttributesAsync);
  CUmemcpyAttributes attributes = {};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  ASSERT_OK(driver_.cuMemcpyWithAttributesAsync(to_, from_ + 5, 3, &attributes, stream_));
  ASSERT_OK(driver_.cuStreamSynchronize(stream_));
  EXPECT_EQ((std::vector<unsigned char>{5, 6, 7, 0xff}), Read(to_, 4));
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemcpyWithAttributesAsync(to_, from_, 3, &attributes, stream_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemcpyWithAttributesAsync(to_, from_, 3, nullptr, stream_));
}

TEST_F(CopyBatchTest, OneShapedCopyWithAttributesIsABatchOfOne) {
  NEEDS(cuMemcpy3DWithAttributesAsync);
  CUDA_MEMCPY3D_BATCH_OP operation = Operation();
  ASSERT_OK(driver_.cuMemcpy3DWithAttributesAsync(&operation, 0, stream_));
  ASSERT_OK(driver_.cuStreamSynchronize(stream_));
  EXPECT_EQ((std::vector<unsigned char>{0, 1, 2, 3, 16}), Read(to_, 5));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemcpy3DWithAttributesAsync(&operation, 1, stream_));
}

}  // namespace
}  // namespace vramstow::simulator
