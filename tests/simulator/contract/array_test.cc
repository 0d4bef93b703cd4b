// Tests arrays, and copies of rows and boxes.
#include <string.h>

#include <numeric>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

class ArrayTest : public ContractTest {
 protected:
  void TearDown() override {
    for (CUarray array : arrays_) EXPECT_OK(driver_.cuArrayDestroy(array));
    ContractTest::TearDown();
  }
  CUarray Make(size_t width, size_t height, CUarray_format format, unsigned channels) {
    CUDA_ARRAY_DESCRIPTOR shape = {};
    shape.Width = width;
    shape.Height = height;
    shape.Format = format;
    shape.NumChannels = channels;
    CUarray array = nullptr;
    EXPECT_OK(driver_.cuArrayCreate(&array, &shape));
    arrays_.push_back(array);
    return array;
  }
  static std::vector<unsigned char> Counting(size_t bytes) {
    std::vector<unsigned char> data(bytes);
    std::iota(data.begin(), data.end(), static_cast<unsigned char>(1));
    return data;
  }

  std::vector<CUarray> arrays_;
};
using BoxTest = ArrayTest;

TEST_F(ArrayTest, RowsOfALineGoInAndOut) {
  CUarray array = Make(200, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1);
  const std::vector<unsigned char> data = Counting(100);
  ASSERT_OK(driver_.cuMemcpyHtoA(array, 50, data.data(), 100));
  std::vector<unsigned char> back(100);
  ASSERT_OK(driver_.cuMemcpyAtoH(back.data(), array, 50, 100));
  EXPECT_EQ(data, back);
}

TEST_F(ArrayTest, LineIsCopiedFromAndToDeviceMemory) {
  CUarray array = Make(64, 0, CU_AD_FORMAT_FLOAT, 1);
  const CUdeviceptr from = Allocate(256);
  const CUdeviceptr to = Allocate(256);
  ASSERT_OK(driver_.cuMemsetD8(from, 9, 256));
  ASSERT_OK(driver_.cuMemcpyDtoA(array, 0, from, 256));
  ASSERT_OK(driver_.cuMemcpyAtoD(to, array, 128, 128));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(9, Read(to + 127, 1)[0]);
}

TEST_F(ArrayTest, CopyBeyondTheEndIsRefused) {
  CUarray array = Make(64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1);
  unsigned char data[128] = {};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpyHtoA(array, 0, data, 128));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpyAtoH(data, array, 60, 8));
}

TEST_F(ArrayTest, RowsOfAPlaneAreNoLine) {
  CUarray array = Make(64, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1);
  unsigned char data[16] = {};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpyAtoH(data, array, 0, 16));
}

TEST_F(ArrayTest, ArrayTakesMemoryAndGivesItBack) {
  const size_t before = FreeBytes();
  CUDA_ARRAY_DESCRIPTOR shape = {};
  shape.Width = 4096;
  shape.Height = 4096;
  shape.Format = CU_AD_FORMAT_FLOAT;
  shape.NumChannels = 1;
  CUarray array = nullptr;
  ASSERT_OK(driver_.cuArrayCreate(&array, &shape));
  EXPECT_LE(FreeBytes(), before - 64 * kMiB);
  ASSERT_OK(driver_.cuArrayDestroy(array));
  EXPECT_EQ(before, FreeBytes());
}

TEST_F(ArrayTest, ThreeChannelsAndNoWidthAreRefused) {
  CUDA_ARRAY_DESCRIPTOR shape = {};
  shape.Width = 16;
  shape.Height = 16;
  shape.Format = CU_AD_FORMAT_UNSIGNED_INT8;
  shape.NumChannels = 3;
  CUarray array = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuArrayCreate(&array, &shape));
  shape.NumChannels = 4;
  shape.Width = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuArrayCreate(&array, &shape));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuArrayCreate(&array, nullptr));
}

TEST_F(ArrayTest, ShapeOfMoreBytesThanANumberHoldsIsRefused) {
  const size_t shapes[][3] = {{(size_t{1} << 62) + 1, 0, 0},
                              {size_t{1} << 31, size_t{1} << 31, 0},
                              {size_t{1} << 20, size_t{1} << 21, size_t{1} << 21}};
  for (const auto& [width, height, depth] : shapes) {
    CUDA_ARRAY3D_DESCRIPTOR shape = {};
    shape.Width = width;
    shape.Height = height;
    shape.Depth = depth;
    shape.Format = CU_AD_FORMAT_FLOAT;
    shape.NumChannels = 1;
    CUarray array = nullptr;
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuArray3DCreate(&array, &shape)) << width;
  }
}

TEST_F(ArrayTest, VolumeKeepsItsDescriptor) {
  CUDA_ARRAY3D_DESCRIPTOR shape = {};
  shape.Width = 8;
  shape.Height = 4;
  shape.Depth = 2;
  shape.Format = CU_AD_FORMAT_HALF;
  shape.NumChannels = 2;
  CUarray array = nullptr;
  ASSERT_OK(driver_.cuArray3DCreate(&array, &shape));
  arrays_.push_back(array);
  CUDA_ARRAY3D_DESCRIPTOR got = {};
  ASSERT_OK(driver_.cuArray3DGetDescriptor(&got, array));
  EXPECT_EQ(2u, got.Depth);
  EXPECT_EQ(CU_AD_FORMAT_HALF, got.Format);
  EXPECT_EQ(2u, got.NumChannels);
}

TEST_F(BoxTest, PartOfAnArrayIsCopiedByRows) {
  CUarray array = Make(16, 8, CU_AD_FORMAT_UNSIGNED_INT8, 1);
  const std::vector<unsigned char> data = Counting(16 * 8);
  CUDA_MEMCPY2D in = {};
  in.srcMemoryType = CU_MEMORYTYPE_HOST;
  in.srcHost = data.data();
  in.srcPitch = 16;
  in.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  in.dstArray = array;
  in.WidthInBytes = 16;
  in.Height = 8;
  ASSERT_OK(driver_.cuMemcpy2D(&in));
  unsigned char back[4][4] = {};
  CUDA_MEMCPY2D out = {};
  out.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  out.srcArray = array;
  out.srcXInBytes = 3;
  out.srcY = 2;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = back;
  out.dstPitch = 4;
  out.WidthInBytes = 4;
  out.Height = 4;
  ASSERT_OK(driver_.cuMemcpy2D(&out));
  EXPECT_EQ(data[2 * 16 + 3], back[0][0]);
  EXPECT_EQ(data[5 * 16 + 6], back[3][3]);
}

TEST_F(BoxTest, PitchSmallerThanARowIsRefused) {
  const CUdeviceptr from = Allocate(4096);
  const CUdeviceptr to = Allocate(4096);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.srcPitch = 8;
  copy.dstPitch = 64;
  copy.WidthInBytes = 16;
  copy.Height = 4;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy2D(&copy));
}

TEST_F(BoxTest, SlicesUponEachOtherAndOffsetsThatWrapAreRefused) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = Allocate(4096);
  copy.dstDevice = Allocate(4096);
  copy.srcPitch = copy.dstPitch = 64;
  copy.srcHeight = copy.dstHeight = 4;
  copy.WidthInBytes = 16;
  copy.Height = 4;
  copy.Depth = 2;
  EXPECT_OK(driver_.cuMemcpy3D(&copy));
  copy.srcHeight = 3;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy3D(&copy));
  copy.srcHeight = 4;
  copy.srcZ = size_t{1} << 56;  // of slices of 256 bytes
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy3D(&copy));
}

TEST_F(BoxTest, BoxBeyondItsBlockIsRefused) {
  const CUdeviceptr from = Allocate(3 * kMiB);
  const CUdeviceptr to = Allocate(3 * kMiB);
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.srcPitch = copy.dstPitch = kMiB;
  copy.WidthInBytes = 16;
  copy.Height = 9;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy2D(&copy));
}

TEST_F(BoxTest, AsynchronousBoxIsInStreamOrder) {
  const CUdeviceptr from = Allocate(kMiB);
  const CUdeviceptr to = Allocate(kMiB);
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuMemsetD8Async(to, 1, kMiB, stream));
  ASSERT_OK(driver_.cuMemsetD8Async(from, 2, kMiB, stream));
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstDevice = to;
  copy.srcPitch = copy.dstPitch = 1024;
  copy.WidthInBytes = 512;
  copy.Height = 1024;
  ASSERT_OK(driver_.cuMemcpy2DAsync(&copy, stream));
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(2, Read(to + 511, 1)[0]);
  EXPECT_EQ(1, Read(to + 512, 1)[0]) << "the gap stays";
}

TEST_F(BoxTest, RowsOfWiderElementsAreFilled) {
  const CUdeviceptr block = Allocate(4096);
  ASSERT_OK(driver_.cuMemsetD8(block, 0, 4096));
  ASSERT_OK(driver_.cuMemsetD2D32(block, 64, 0x01020304, 4, 8));
  ASSERT_OK(driver_.cuCtxSynchronize());
  EXPECT_EQ(4, Read(block + 7 * 64, 1)[0]);
  EXPECT_EQ(0, Read(block + 16, 1)[0]);
}

}  // namespace
}  // namespace vramstow::simulator
