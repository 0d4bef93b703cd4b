// Tests the cuSPARSE stand-in: descriptors and buffers. Results are queued but not computed.
#include <library_types.h>

#include "tests/libraries/device_fixture.h"

extern "C" {
int cusparseCreate(void** handle);
int cusparseDestroy(void* handle);
int cusparseCreateCsr(void** matrix, int64_t rows, int64_t columns, int64_t nnz, void* offsets,
                      void* indices, void* values, int, int, int, int type);
int cusparseDestroySpMat(const void* matrix);
int cusparseCreateDnMat(void** matrix, int64_t rows, int64_t columns, int64_t leading, void* values,
                        int type, int order);
int cusparseDestroyDnMat(const void* matrix);
int cusparseSpMM_bufferSize(void*, int, int, const void*, const void* a, const void* b, const void*,
                            void* c, int, int, size_t* bytes);
int cusparseSpMM(void*, int, int, const void*, const void* a, const void* b, const void*, void* c,
                 int, int, void* buffer);
int cusparseXcoo2csr(void*, const int* rows, int nnz, int m, int* offsets, int);
int cusparseSpGEMM_createDescr(void** description);
}

namespace vramstow {
namespace {

// Values of cusparseStatus_t.
constexpr int kSuccess = 0;
constexpr int kNotInitialized = 1;
constexpr int kInvalidValue = 3;
constexpr int kNotSupported = 10;

constexpr int64_t kRows = 6;
constexpr int64_t kColumns = 4;
constexpr int64_t kWidth = 3;
constexpr int64_t kEntries = 9;

class CusparseTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cusparseCreate(&handle_), kSuccess);
  }
  void TearDown() override { EXPECT_EQ(cusparseDestroy(handle_), kSuccess); }

  void* handle_ = nullptr;
};

TEST_F(CusparseTest, AProductIsQueuedAndItsResultLeftOut) {
  DeviceMemory values(kEntries * sizeof(float));
  DeviceMemory input(kColumns * kWidth * sizeof(float));
  DeviceMemory output(kRows * kWidth * sizeof(float));
  void* a = nullptr;
  void* b = nullptr;
  void* c = nullptr;
  ASSERT_EQ(cusparseCreateCsr(&a, kRows, kColumns, kEntries, nullptr, nullptr, values.as<void>(), 2,
                              2, 0, CUDA_R_32F),
            kSuccess);
  ASSERT_EQ(cusparseCreateDnMat(&b, kColumns, kWidth, kColumns, input.as<void>(), CUDA_R_32F, 1),
            kSuccess);
  ASSERT_EQ(cusparseCreateDnMat(&c, kRows, kWidth, kRows, output.as<void>(), CUDA_R_32F, 1),
            kSuccess);
  size_t bytes = 0;
  EXPECT_EQ(cusparseSpMM_bufferSize(handle_, 0, 0, nullptr, a, b, nullptr, c, 0, 0, &bytes),
            kSuccess);
  EXPECT_EQ(bytes, kRows * sizeof(int32_t));
  SeenKernel kernel("cusparse_spmm");
  EXPECT_EQ(cusparseSpMM(handle_, 0, 0, nullptr, a, b, nullptr, c, 0, 0, nullptr), kSuccess);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(kernel.launches().size(), 1u);
  ExpectLeftOut(output.address(), kRows * kWidth * sizeof(float));
  EXPECT_EQ(cusparseDestroySpMat(a), kSuccess);
  EXPECT_EQ(cusparseDestroyDnMat(b), kSuccess);
  EXPECT_EQ(cusparseDestroyDnMat(c), kSuccess);
}

TEST_F(CusparseTest, TheBeginningsOfRowsAreLeftOut) {
  DeviceMemory rows(kEntries * sizeof(int));
  DeviceMemory offsets((kRows + 1) * sizeof(int));
  EXPECT_EQ(cusparseXcoo2csr(handle_, rows.as<int>(), kEntries, kRows, offsets.as<int>(), 0),
            kSuccess);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ExpectLeftOut(offsets.address(), (kRows + 1) * sizeof(int));
}

TEST_F(CusparseTest, WrongArgumentsAndProductsOfUnknownSizeAreRefused) {
  void* matrix = nullptr;
  EXPECT_EQ(cusparseCreateDnMat(&matrix, 4, 2, 3, nullptr, CUDA_R_32F, 1), kInvalidValue);
  EXPECT_EQ(cusparseCreateCsr(&matrix, -1, 2, 0, nullptr, nullptr, nullptr, 2, 2, 0, CUDA_R_32F),
            kInvalidValue);
  size_t bytes = 0;
  EXPECT_EQ(cusparseSpMM_bufferSize(handle_, 0, 0, nullptr, nullptr, nullptr, nullptr, nullptr, 0,
                                    0, &bytes),
            kInvalidValue);
  EXPECT_EQ(cusparseXcoo2csr(nullptr, nullptr, 0, 0, nullptr, 0), kNotInitialized);
  EXPECT_EQ(cusparseSpGEMM_createDescr(&matrix), kNotSupported);
}

}  // namespace
}  // namespace vramstow
