// Tests the cuSOLVER stand-in: workspaces and arguments. Results are queued but not computed.
#include <library_types.h>

#include "tests/libraries/device_fixture.h"

extern "C" {
int cusolverDnCreate(void** handle);
int cusolverDnDestroy(void* handle);
int cusolverDnXpotrf_bufferSize(void*, void*, int uplo, int64_t n, cudaDataType, const void* A,
                                int64_t lda, cudaDataType, size_t* device, size_t* host);
int cusolverDnXpotrf(void*, void*, int uplo, int64_t n, cudaDataType, void* A, int64_t lda,
                     cudaDataType, void*, size_t, void*, size_t, int* info);
int cusolverDnXpotrs(void*, void*, int uplo, int64_t n, int64_t columns, cudaDataType,
                     const void* A, int64_t lda, cudaDataType, void* B, int64_t ldb, int* info);
int cusolverDnSpotrfBatched(void*, int uplo, int n, void* A, int lda, int* infos, int batch);
int cusolverDnXgetrf(void*, void*, int64_t m, int64_t n, cudaDataType, void* A, int64_t lda,
                     int64_t* pivots, cudaDataType, void*, size_t, void*, size_t, int* info);
int cusolverDnXgetrs(void*, void*, int trans, int64_t n, int64_t columns, cudaDataType,
                     const void* A, int64_t lda, const int64_t* pivots, cudaDataType, void* B,
                     int64_t ldb, int* info);
int cusolverDnDsyevd(void*, int jobz, int uplo, int n, void* A, int lda, void* W, void* work,
                     int lwork, int* info);
int cusolverDnDgesvdjBatched_bufferSize(void*, int jobz, int m, int n, const void* A, int lda,
                                        const void* S, const void* U, int ldu, const void* V,
                                        int ldv, int* lwork, void* params, int batch);
int cusolverDnDgesvdjBatched(void*, int jobz, int m, int n, void* A, int lda, void* S, void* U,
                             int ldu, void* V, int ldv, void* work, int lwork, int* info,
                             void* params, int batch);
int cusolverDnDgeqrf(void*, int m, int n, void* A, int lda, void* tau, void* work, int lwork,
                     int* info);
int cusolverDnDorgqr(void*, int m, int n, int k, void* A, int lda, const void* tau, void* work,
                     int lwork, int* info);
int cusolverDnSpotri(void*);
}

namespace vramstow {
namespace {

// Values of cusolverStatus_t.
constexpr int kSuccess = 0;
constexpr int kNotInitialized = 1;
constexpr int kInvalidValue = 3;
constexpr int kNotSupported = 9;

constexpr size_t kN = 5;

class CusolverTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cusolverDnCreate(&handle_), kSuccess);
  }
  void TearDown() override { EXPECT_EQ(cusolverDnDestroy(handle_), kSuccess); }

  void* handle_ = nullptr;
};

// Expects that the call queues this kernel once, and does nothing else to the memory.
template <typename Call>
void ExpectQueued(const char* name, Call call) {
  SeenKernel kernel(name);
  EXPECT_EQ(call(), kSuccess);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(kernel.launches().size(), 1u) << name;
}

TEST_F(CusolverTest, FactorsAndSolutionsAreQueuedAndLeftOut) {
  DeviceMemory a(kN * kN * sizeof(double));
  DeviceMemory b(kN * sizeof(double));
  DeviceMemory pivots(kN * sizeof(int64_t));
  DeviceMemory info(sizeof(int));
  size_t device = 0;
  size_t host = 1;
  ASSERT_EQ(cusolverDnXpotrf_bufferSize(handle_, nullptr, 0, kN, CUDA_R_64F, a.as<void>(), kN,
                                        CUDA_R_64F, &device, &host),
            kSuccess);
  EXPECT_EQ(device, kN * kN * sizeof(double));
  ExpectQueued("cusolver_potrf", [&] {
    return cusolverDnXpotrf(handle_, nullptr, 0, kN, CUDA_R_64F, a.as<void>(), kN, CUDA_R_64F,
                            nullptr, 0, nullptr, 0, info.as<int>());
  });
  ExpectLeftOut(a.address(), kN * kN * sizeof(double));
  ExpectLeftOut(info.address(), sizeof(int));
  ExpectQueued("cusolver_potrs", [&] {
    return cusolverDnXpotrs(handle_, nullptr, 0, kN, 1, CUDA_R_64F, a.as<void>(), kN, CUDA_R_64F,
                            b.as<void>(), kN, info.as<int>());
  });
  ExpectLeftOut(b.address(), kN * sizeof(double));
  ExpectQueued("cusolver_getrf", [&] {
    return cusolverDnXgetrf(handle_, nullptr, kN, kN, CUDA_R_64F, a.as<void>(), kN,
                            pivots.as<int64_t>(), CUDA_R_64F, nullptr, 0, nullptr, 0,
                            info.as<int>());
  });
  ExpectLeftOut(pivots.address(), kN * sizeof(int64_t));
  ExpectQueued("cusolver_getrs", [&] {
    return cusolverDnXgetrs(handle_, nullptr, 0, kN, 1, CUDA_R_64F, a.as<void>(), kN,
                            pivots.as<int64_t>(), CUDA_R_64F, b.as<void>(), kN, info.as<int>());
  });
  ExpectLeftOut(b.address(), kN * sizeof(double));
}

TEST_F(CusolverTest, ABatchIsQueuedAndItsInfosAreLeftOut) {
  DeviceMemory matrices(2 * sizeof(uint64_t));
  DeviceMemory infos(2 * sizeof(int));
  ExpectQueued("cusolver_potrf_batched", [&] {
    return cusolverDnSpotrfBatched(handle_, 0, kN, matrices.as<void>(), kN, infos.as<int>(), 2);
  });
  ExpectLeftOut(infos.address(), 2 * sizeof(int));
}

TEST_F(CusolverTest, DecompositionsAreQueuedAndLeftOut) {
  DeviceMemory a(kN * kN * sizeof(double));
  DeviceMemory values(kN * sizeof(double));
  DeviceMemory info(sizeof(int));
  ExpectQueued("cusolver_syevd", [&] {
    return cusolverDnDsyevd(handle_, 1, 0, kN, a.as<void>(), kN, values.as<void>(), nullptr, 0,
                            info.as<int>());
  });
  ExpectLeftOut(a.address(), kN * kN * sizeof(double));
  ExpectLeftOut(values.address(), kN * sizeof(double));
  ExpectQueued("cusolver_geqrf", [&] {
    return cusolverDnDgeqrf(handle_, kN, kN, a.as<void>(), kN, values.as<void>(), nullptr, 0,
                            info.as<int>());
  });
  ExpectLeftOut(values.address(), kN * sizeof(double));
  ExpectQueued("cusolver_orgqr", [&] {
    return cusolverDnDorgqr(handle_, kN, kN, kN, a.as<void>(), kN, values.as<void>(), nullptr, 0,
                            info.as<int>());
  });
  ExpectLeftOut(a.address(), kN * kN * sizeof(double));
}

TEST_F(CusolverTest, SingularValuesOfABatchLieOneBehindTheOther) {
  constexpr int kM = 3;
  constexpr int kBatch = 4;
  DeviceMemory a(kBatch * kM * kN * sizeof(double));
  DeviceMemory values(kBatch * kM * sizeof(double));
  DeviceMemory left(kBatch * kM * kM * sizeof(double));
  DeviceMemory right(kBatch * kN * kN * sizeof(double));
  DeviceMemory infos(kBatch * sizeof(int));
  int elements = 0;
  ASSERT_EQ(cusolverDnDgesvdjBatched_bufferSize(handle_, 1, kM, kN, nullptr, kM, nullptr, nullptr,
                                                kM, nullptr, kN, &elements, nullptr, kBatch),
            kSuccess);
  EXPECT_EQ(elements, kBatch * kM * static_cast<int>(kN));
  ExpectQueued("cusolver_gesvd", [&] {
    return cusolverDnDgesvdjBatched(handle_, 1, kM, kN, a.as<void>(), kM, values.as<void>(),
                                    left.as<void>(), kM, right.as<void>(), kN, nullptr, 0,
                                    infos.as<int>(), nullptr, kBatch);
  });
  ExpectLeftOut(values.address(), kBatch * kM * sizeof(double));
  ExpectLeftOut(left.address(), kBatch * kM * kM * sizeof(double));
  ExpectLeftOut(right.address(), kBatch * kN * kN * sizeof(double));
  ExpectLeftOut(infos.address(), kBatch * sizeof(int));
}

TEST_F(CusolverTest, WrongArgumentsAndUnsimulatedCallsAreRefused) {
  int info = 0;
  EXPECT_EQ(cusolverDnXpotrf(nullptr, nullptr, 0, 1, CUDA_R_32F, &info, 1, CUDA_R_32F, nullptr, 0,
                             nullptr, 0, &info),
            kNotInitialized);
  EXPECT_EQ(cusolverDnXpotrf(handle_, nullptr, 0, 2, CUDA_R_32F, &info, 1, CUDA_R_32F, nullptr, 0,
                             nullptr, 0, &info),
            kInvalidValue);
  EXPECT_EQ(cusolverDnXpotrf(handle_, nullptr, 0, 1, CUDA_R_8I, &info, 1, CUDA_R_32F, nullptr, 0,
                             nullptr, 0, &info),
            kInvalidValue);
  EXPECT_EQ(cusolverDnSpotri(handle_), kNotSupported);
}

}  // namespace
}  // namespace vramstow
