// The cuSOLVER stand-in: factors times each other are the matrix again, solutions fit.
#include "simulator/runtime/libraries/cusolver/api.h"

#include <library_types.h>

#include <complex>

#include "tests/libraries/device_fixture.h"

VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle);
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXpotrf_bufferSize(
    cusolverDnHandle_t, cusolverDnParams_t, int uplo, int64_t n, cudaDataType, const void* A,
    int64_t lda, cudaDataType, size_t* device, size_t* host);
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t, cusolverDnParams_t,
                                                    int uplo, int64_t n, cudaDataType, void* A,
                                                    int64_t lda, cudaDataType, void*, size_t, void*,
                                                    size_t, int* info);
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t, cusolverDnParams_t,
                                                    int uplo, int64_t n, int64_t columns,
                                                    cudaDataType, const void* A, int64_t lda,
                                                    cudaDataType, void* B, int64_t ldb, int* info);
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnSpotrfBatched(cusolverDnHandle_t, int uplo, int n,
                                                           void* A, int lda, int* infos, int batch);
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t, cusolverDnParams_t,
                                                    int64_t m, int64_t n, cudaDataType, void* A,
                                                    int64_t lda, int64_t* pivots, cudaDataType,
                                                    void*, size_t, void*, size_t, int* info);
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t, cusolverDnParams_t,
                                                    int trans, int64_t n, int64_t columns,
                                                    cudaDataType, const void* A, int64_t lda,
                                                    const int64_t* pivots, cudaDataType, void* B,
                                                    int64_t ldb, int* info);
VRAMSTOW_CUSOLVER cusolverStatus_t cusolverDnSsyevd(cusolverDnHandle_t);

namespace vramstow {
namespace {

template <typename T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr cudaDataType kValue = CUDA_R_32F;
};
template <>
struct TypeOf<double> {
  static constexpr cudaDataType kValue = CUDA_R_64F;
};
template <>
struct TypeOf<std::complex<float>> {
  static constexpr cudaDataType kValue = CUDA_C_32F;
};
template <>
struct TypeOf<std::complex<double>> {
  static constexpr cudaDataType kValue = CUDA_C_64F;
};

constexpr size_t kN = 5;
using Complex = std::complex<double>;

template <typename T>
T Value(size_t i, size_t j) {
  const auto real = static_cast<double>((i * 7 + j * 3) % 11) - 4;
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(real);
  } else {
    return T(Complex(real, static_cast<double>((i + 2 * j) % 5) - 2));
  }
}

template <typename T>
T Conjugate(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else {
    return std::conj(value);
  }
}

// Column-major, in device memory while it lives.
template <typename T>
class DeviceMatrix {
 public:
  explicit DeviceMatrix(const std::vector<T>& values)
      : memory_(values.size() * sizeof(T)), count_(values.size()) {
    EXPECT_EQ(cuMemcpyHtoD(memory_.address(), values.data(), count_ * sizeof(T)), CUDA_SUCCESS);
  }
  std::vector<T> Read() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cuMemcpyDtoH(values.data(), memory_.address(), count_ * sizeof(T)), CUDA_SUCCESS);
    return values;
  }
  T* data() const { return memory_.as<T>(); }
  CUdeviceptr address() const { return memory_.address(); }

 private:
  DeviceMemory memory_;
  size_t count_;
};

template <typename T>
class CusolverTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(cusolverDnCreate(&handle_), CUSOLVER_STATUS_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(cusolverDnDestroy(handle_), CUSOLVER_STATUS_SUCCESS); }

  // M·M* and something on the diagonal.
  static std::vector<T> Positive() {
    std::vector<T> values(kN * kN);
    for (size_t i = 0; i < kN; ++i) {
      for (size_t j = 0; j < kN; ++j) {
        T sum = i == j ? T(2) : T(0);
        for (size_t k = 0; k < kN; ++k) sum += Value<T>(i, k) * Conjugate(Value<T>(j, k));
        values[j * kN + i] = sum;
      }
    }
    return values;
  }
  static std::vector<T> General() {
    std::vector<T> values(kN * kN);
    for (size_t i = 0; i < kN; ++i) {
      for (size_t j = 0; j < kN; ++j) values[j * kN + i] = Value<T>(i, j) + (i == j ? T(1) : T(0));
    }
    return values;
  }
  // A·x for x = (1, 2, …), or Aᵀ·x.
  static std::vector<T> Product(const std::vector<T>& a, bool transposed) {
    std::vector<T> b(kN, T(0));
    for (size_t i = 0; i < kN; ++i) {
      for (size_t j = 0; j < kN; ++j) {
        b[i] += (transposed ? a[i * kN + j] : a[j * kN + i]) * T(static_cast<float>(j + 1));
      }
    }
    return b;
  }
  static void ExpectCounting(const std::vector<T>& x) {
    for (size_t i = 0; i < kN; ++i)
      EXPECT_NEAR(std::abs(x[i] - T(static_cast<float>(i + 1))), 0, 1e-2);
  }

  static constexpr cudaDataType kType = TypeOf<T>::kValue;
  cusolverDnHandle_t handle_ = nullptr;
};

using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(CusolverTest, Types);

TYPED_TEST(CusolverTest, CholeskyFactorsSolve) {
  const auto values = this->Positive();
  for (const int uplo : {0, 1}) {
    DeviceMatrix<TypeParam> a(values);
    DeviceMatrix<TypeParam> b(this->Product(values, false));
    DeviceMatrix<int> info({-1});
    size_t device = 0;
    size_t host = 1;
    ASSERT_EQ(cusolverDnXpotrf_bufferSize(this->handle_, nullptr, uplo, kN, this->kType, a.data(),
                                          kN, this->kType, &device, &host),
              CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(device, kN * kN * sizeof(TypeParam));
    ASSERT_EQ(cusolverDnXpotrf(this->handle_, nullptr, uplo, kN, this->kType, a.data(), kN,
                               this->kType, nullptr, 0, nullptr, 0, info.data()),
              CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(info.Read()[0], 0);
    // The first column of L is that of A divided by the root of its first value.
    const auto factor = a.Read();
    const auto root = std::sqrt(values[0]);
    const auto expected = uplo == 0 ? values[1] / root : Conjugate(values[1] / root);
    EXPECT_NEAR(std::abs(factor[uplo == 0 ? 1 : kN] - expected), 0, 1e-3);
    EXPECT_EQ(factor[uplo == 0 ? kN : 1], values[uplo == 0 ? kN : 1]) << "the other triangle stays";
    ASSERT_EQ(cusolverDnXpotrs(this->handle_, nullptr, uplo, kN, 1, this->kType, a.data(), kN,
                               this->kType, b.data(), kN, info.data()),
              CUSOLVER_STATUS_SUCCESS);
    this->ExpectCounting(b.Read());
  }
}

TYPED_TEST(CusolverTest, LuFactorsSolveAlsoTransposed) {
  const auto values = this->General();
  DeviceMatrix<TypeParam> a(values);
  DeviceMatrix<int64_t> pivots({0, 0, 0, 0, 0});
  DeviceMatrix<int> info({-1});
  ASSERT_EQ(cusolverDnXgetrf(this->handle_, nullptr, kN, kN, this->kType, a.data(), kN,
                             pivots.data(), this->kType, nullptr, 0, nullptr, 0, info.data()),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(info.Read()[0], 0);
  for (const bool transposed : {false, true}) {
    DeviceMatrix<TypeParam> b(this->Product(values, transposed));
    ASSERT_EQ(cusolverDnXgetrs(this->handle_, nullptr, transposed ? 1 : 0, kN, 1, this->kType,
                               a.data(), kN, pivots.data(), this->kType, b.data(), kN, info.data()),
              CUSOLVER_STATUS_SUCCESS);
    this->ExpectCounting(b.Read());
  }
}

using CusolverFloat = CusolverTest<float>;

TEST_F(CusolverFloat, AMatrixThatIsNotPositiveIsSaidInInfo) {
  auto values = Positive();
  values[2 * kN + 2] = -1;
  DeviceMatrix<float> good(Positive());
  DeviceMatrix<float> bad(values);
  DeviceMatrix<uint64_t> both({good.address(), bad.address()});
  DeviceMatrix<int> infos({-1, -1});
  ASSERT_EQ(cusolverDnSpotrfBatched(handle_, 0, kN, both.data(), kN, infos.data(), 2),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(infos.Read(), (std::vector<int>{0, 3}));
}

TEST_F(CusolverFloat, WrongArgumentsAndUnsimulatedCallsAreRefused) {
  int info = 0;
  EXPECT_EQ(cusolverDnXpotrf(nullptr, nullptr, 0, 1, CUDA_R_32F, &info, 1, CUDA_R_32F, nullptr, 0,
                             nullptr, 0, &info),
            CUSOLVER_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cusolverDnXpotrf(handle_, nullptr, 0, 2, CUDA_R_32F, &info, 1, CUDA_R_32F, nullptr, 0,
                             nullptr, 0, &info),
            CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(cusolverDnXpotrf(handle_, nullptr, 0, 1, CUDA_R_8I, &info, 1, CUDA_R_32F, nullptr, 0,
                             nullptr, 0, &info),
            CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(cusolverDnSsyevd(handle_), CUSOLVER_STATUS_NOT_SUPPORTED);
}

}  // namespace
}  // namespace vramstow
