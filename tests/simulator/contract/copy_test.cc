// Tests copies and fills: which bytes move, when they move, and which copies are refused.
#include <string.h>

#include <numeric>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

using CopyTest = ContractTest;
using FillTest = ContractTest;

std::vector<unsigned char> Pattern(size_t bytes, unsigned seed = 1) {
  std::vector<unsigned char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 31 + seed);
  return data;
}

TEST_F(CopyTest, BytesComeBackAsTheyWent) {
  for (const size_t bytes : {size_t{1}, size_t{4095}, kMiB + 3, 9 * kMiB}) {
    const std::vector<unsigned char> data = Pattern(bytes);
    const CUdeviceptr block = Allocate(bytes);
    ASSERT_OK(driver_.cuMemcpyHtoD(block, data.data(), bytes));
    EXPECT_EQ(data, Read(block, bytes));
  }
}

TEST_F(CopyTest, DeviceToDeviceMovesPartsOfLargeBlocks) {
  const CUdeviceptr from = Allocate(8 * kMiB);
  const CUdeviceptr to = Allocate(8 * kMiB);
  const std::vector<unsigned char> data = Pattern(100);
  ASSERT_OK(driver_.cuMemsetD8(to, 0xaa, 8 * kMiB));
  ASSERT_OK(driver_.cuMemcpyHtoD(from + 5 * kMiB + 7, data.data(), 100));
  ASSERT_OK(driver_.cuMemcpyDtoD(to, from, 8 * kMiB));
  EXPECT_EQ(data, Read(to + 5 * kMiB + 7, 100));
  EXPECT_EQ(std::vector<unsigned char>(64, 0), Read(to + kMiB, 64));
}

TEST_F(CopyTest, OutsideOfABlockIsRefused) {
  const CUdeviceptr block = Allocate(2 * kMiB);
  char byte[16] = {};
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemcpyHtoD(block + 2 * kMiB - 8, byte, sizeof(byte)));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpyDtoH(byte, 0, sizeof(byte)));
}

// An end that does not fit into 64 bits must not become an end inside the block.
TEST_F(CopyTest, SizeThatWrapsIsRefused) {
  std::vector<CUdeviceptr> blocks = {Allocate(4096)};
  CUdeviceptr pooled = 0;
  ASSERT_OK(driver_.cuMemAllocAsync(&pooled, 4096, nullptr));
  blocks.push_back(pooled);
  char host[64] = {};
  for (const CUdeviceptr block : blocks) {
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpyDtoH(host, block, ~size_t{0}));
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpyHtoD(block, host, ~size_t{0}));
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD8(block, 1, ~size_t{0}));
  }
  EXPECT_OK(driver_.cuMemFreeAsync(pooled, nullptr));
}

TEST_F(CopyTest, FreedMemoryIsRefused) {
  CUdeviceptr block = 0;
  char byte = 0;
  ASSERT_OK(driver_.cuMemAlloc(&block, 8 * kMiB));
  ASSERT_OK(driver_.cuMemFree(block));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpyDtoH(&byte, block, 1));
}

TEST_F(CopyTest, NothingIsAlwaysFine) { EXPECT_OK(driver_.cuMemcpyDtoH(nullptr, 0, 0)); }

TEST_F(CopyTest, PageableSourceIsTakenAtTheCall) {
  const CUdeviceptr block = Allocate(kMiB);
  std::vector<unsigned char> data = Pattern(kMiB);
  const std::vector<unsigned char> before = data;
  CUstream stream = NewStream();
  ASSERT_OK(driver_.cuMemcpyHtoDAsync(block, data.data(), kMiB, stream));
  memset(data.data(), 0, data.size());
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(before, Read(block, kMiB));
}

TEST_F(CopyTest, CopyIntoPageableMemoryHasEndedAtReturn) {
  const CUdeviceptr block = Allocate(kMiB);
  ASSERT_OK(driver_.cuMemsetD8(block, 3, kMiB));
  std::vector<unsigned char> data(kMiB);
  CUstream stream = NewStream(CU_STREAM_DEFAULT);
  ASSERT_OK(driver_.cuMemcpyDtoHAsync(data.data(), block, kMiB, stream));
  EXPECT_EQ(std::vector<unsigned char>(kMiB, 3), data);
}

TEST_F(CopyTest, HostToHostIsSynchronous) {
  std::vector<unsigned char> from = Pattern(1000);
  std::vector<unsigned char> to(1000);
  ASSERT_OK(driver_.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to.data()),
                                  reinterpret_cast<CUdeviceptr>(from.data()), 1000, NewStream()));
  EXPECT_EQ(from, to);
}

TEST_F(CopyTest, StreamKeepsItsOrder) {
  const CUdeviceptr first = Allocate(kMiB);
  const CUdeviceptr second = Allocate(kMiB);
  CUstream stream = NewStream();
  for (int value = 1; value <= 50; ++value) {
    ASSERT_OK(driver_.cuMemsetD8Async(first, static_cast<unsigned char>(value), kMiB, stream));
    ASSERT_OK(driver_.cuMemcpyDtoDAsync(second, first, kMiB, stream));
  }
  ASSERT_OK(driver_.cuStreamSynchronize(stream));
  EXPECT_EQ(std::vector<unsigned char>(16, 50), Read(second, 16));
}

TEST_F(CopyTest, BetweenDevices) {
  int count = 0;
  ASSERT_OK(driver_.cuDeviceGetCount(&count));
  if (count < 2) GTEST_SKIP() << "one device only";
  const std::vector<unsigned char> data = Pattern(kMiB);
  const CUdeviceptr here = Allocate(kMiB);
  ASSERT_OK(driver_.cuMemcpyHtoD(here, data.data(), kMiB));
  CUcontext other = nullptr;
  CUdeviceptr there = 0;
  ASSERT_OK(driver_.cuDevicePrimaryCtxRetain(&other, 1));
  ASSERT_OK(driver_.cuCtxSetCurrent(other));
  ASSERT_OK(driver_.cuMemAlloc(&there, kMiB));
  ASSERT_OK(driver_.cuMemcpyPeer(there, other, here, context_, kMiB));
  EXPECT_EQ(data, Read(there, kMiB));
  ASSERT_OK(driver_.cuMemFree(there));
  ASSERT_OK(driver_.cuCtxSetCurrent(context_));
  ASSERT_OK(driver_.cuDevicePrimaryCtxRelease(1));
}

TEST_F(CopyTest, TwoDimensionsRespectBothPitches) {
  const std::vector<unsigned char> data = Pattern(10 * 20);
  CUdeviceptr block = 0;
  size_t pitch = 0;
  ASSERT_OK(driver_.cuMemAllocPitch(&block, &pitch, 20, 10, 4));
  blocks_.push_back(block);
  CUDA_MEMCPY2D shape = {};
  shape.srcMemoryType = CU_MEMORYTYPE_HOST;
  shape.srcHost = data.data();
  shape.srcPitch = 20;
  shape.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.dstDevice = block;
  shape.dstPitch = pitch;
  shape.WidthInBytes = 20;
  shape.Height = 10;
  ASSERT_OK(driver_.cuMemcpy2D(&shape));
  for (size_t row = 0; row < 10; ++row) {
    const std::vector<unsigned char> read = Read(block + row * pitch, 20);
    EXPECT_TRUE(std::equal(read.begin(), read.end(), data.begin() + row * 20)) << row;
  }
  shape.srcPitch = 10;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemcpy2D(&shape)) << "a pitch below the width";
}

TEST_F(CopyTest, ThreeDimensionsPickABox) {
  constexpr size_t kSide = 8;
  const std::vector<unsigned char> data = Pattern(kSide * kSide * kSide);
  const CUdeviceptr block = Allocate(data.size());
  ASSERT_OK(driver_.cuMemcpyHtoD(block, data.data(), data.size()));
  std::vector<unsigned char> box(2 * 3 * 4, 0);
  CUDA_MEMCPY3D shape = {};
  shape.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  shape.srcDevice = block;
  shape.srcPitch = shape.srcHeight = kSide;
  shape.srcXInBytes = 1;
  shape.srcY = 2;
  shape.srcZ = 3;
  shape.dstMemoryType = CU_MEMORYTYPE_HOST;
  shape.dstHost = box.data();
  shape.dstPitch = 4;
  shape.dstHeight = 3;
  shape.WidthInBytes = 4;
  shape.Height = 3;
  shape.Depth = 2;
  ASSERT_OK(driver_.cuMemcpy3D(&shape));
  EXPECT_EQ(data[3 * 64 + 2 * 8 + 1], box[0]);
  EXPECT_EQ(data[4 * 64 + 4 * 8 + 4], box.back());
}

TEST_F(FillTest, EveryWidthRepeatsItsValue) {
  const CUdeviceptr block = Allocate(64);
  ASSERT_OK(driver_.cuMemsetD16(block, 0x1234, 8));
  EXPECT_EQ((std::vector<unsigned char>{0x34, 0x12, 0x34, 0x12}), Read(block + 12, 4));
  ASSERT_OK(driver_.cuMemsetD32(block, 0xdeadbeef, 4));
  EXPECT_EQ((std::vector<unsigned char>{0xef, 0xbe, 0xad, 0xde}), Read(block + 12, 4));
}

TEST_F(FillTest, ZerosOverLargeBlocksReadAsZeros) {
  const CUdeviceptr block = Allocate(8 * kMiB);
  ASSERT_OK(driver_.cuMemsetD8(block, 0xff, 8 * kMiB));
  ASSERT_OK(driver_.cuMemsetD8(block + 100, 0, 4 * kMiB));
  const std::vector<unsigned char> read = Read(block, 8 * kMiB);
  EXPECT_EQ(0xff, read[99]);
  EXPECT_EQ(0, read[100]);
  EXPECT_EQ(0, read[100 + 4 * kMiB - 1]);
  EXPECT_EQ(0xff, read[100 + 4 * kMiB]);
}

TEST_F(FillTest, MisalignedIsRefused) {
  const CUdeviceptr block = Allocate(64);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD32(block + 2, 1, 4));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD16(block + 1, 1, 4));
}

TEST_F(FillTest, SizeThatWrapsIsRefused) {
  const CUdeviceptr block = Allocate(4096);
  constexpr size_t kHalf = size_t{1} << 63;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD32(block, 5, (size_t{1} << 62) + 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD16(block, 5, kHalf + 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD2D8(block, kHalf, 5, 16, 3));
}

TEST_F(FillTest, PitchSmallerThanARowIsRefused) {
  const CUdeviceptr block = Allocate(4096);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD2D8(block, 0, 5, 16, size_t{1} << 63));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuMemsetD2D32(block, 60, 5, 16, 2));
  EXPECT_OK(driver_.cuMemsetD2D32(block, 0, 5, 16, 1)) << "one row needs no pitch";
}

TEST_F(FillTest, HostMemoryThatIsNotPinnedIsRefused) {
  char memory[64];
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuMemsetD8(reinterpret_cast<CUdeviceptr>(memory), 1, sizeof(memory)));
}

TEST_F(FillTest, RowsKeepThePitchUntouched) {
  const CUdeviceptr block = Allocate(1000);
  ASSERT_OK(driver_.cuMemsetD8(block, 1, 1000));
  ASSERT_OK(driver_.cuMemsetD2D8(block, 100, 2, 10, 5));
  const std::vector<unsigned char> read = Read(block, 1000);
  EXPECT_EQ(2, read[409]);
  EXPECT_EQ(1, read[410]);
  EXPECT_EQ(1, read[500]);
}

}  // namespace
}  // namespace vramstow::simulator
