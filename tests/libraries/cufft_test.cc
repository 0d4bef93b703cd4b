// The cuFFT stand-in against the definition of the discrete Fourier transform.
#include "simulator/runtime/libraries/cufft/api.h"

#include <library_types.h>

#include <complex>
#include <numbers>

#include "tests/libraries/device_fixture.h"

VRAMSTOW_CUFFT cufftResult cufftCreate(cufftHandle* handle);
VRAMSTOW_CUFFT cufftResult cufftDestroy(cufftHandle plan);
VRAMSTOW_CUFFT cufftResult cufftPlan1d(cufftHandle* plan, int nx, cufftType type, int batch);
VRAMSTOW_CUFFT cufftResult cufftPlan2d(cufftHandle* plan, int nx, int ny, cufftType type);
VRAMSTOW_CUFFT cufftResult cufftPlanMany(cufftHandle* plan, int rank, int* n, int* inembed,
                                         int istride, int idist, int* onembed, int ostride,
                                         int odist, cufftType type, int batch);
VRAMSTOW_CUFFT cufftResult cufftGetSize(cufftHandle plan, size_t* workSize);
VRAMSTOW_CUFFT cufftResult cufftSetAutoAllocation(cufftHandle plan, int autoAllocate);
VRAMSTOW_CUFFT cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch,
                                           size_t* workSize);
VRAMSTOW_CUFFT cufftResult cufftExecC2C(cufftHandle plan, void* input, void* output, int direction);
VRAMSTOW_CUFFT cufftResult cufftExecZ2Z(cufftHandle plan, void* input, void* output, int direction);
VRAMSTOW_CUFFT cufftResult cufftExecR2C(cufftHandle plan, void* input, void* output);
VRAMSTOW_CUFFT cufftResult cufftExecC2R(cufftHandle plan, void* input, void* output);
VRAMSTOW_CUFFT cufftResult cufftXtSetGPUs(cufftHandle handle, int nGPUs, int* whichGPUs);

namespace vramstow {
namespace {

using CufftTest = DeviceTest;
using Complex = std::complex<double>;
constexpr double kPi = std::numbers::pi;

template <typename T>
std::vector<T> Values(size_t count) {
  std::vector<T> values(count);
  for (size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i * i % 17) - 8;
    if constexpr (std::is_arithmetic_v<T>) {
      values[i] = static_cast<T>(x);
    } else {
      values[i] = T(static_cast<typename T::value_type>(x),
                    static_cast<typename T::value_type>(static_cast<double>(i % 5)));
    }
  }
  return values;
}

// The sum by its definition.
template <typename T>
std::vector<Complex> Defined(const T* values, size_t n, int direction) {
  std::vector<Complex> result(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) {
      const double turn = static_cast<double>(j * k % n) / static_cast<double>(n);
      result[k] += Complex(values[j]) * std::polar(1.0, direction * 2 * kPi * turn);
    }
  }
  return result;
}

template <typename T>
void Put(const DeviceMemory& memory, const std::vector<T>& values) {
  ASSERT_EQ(cuMemcpyHtoD(memory.address(), values.data(), values.size() * sizeof(T)), CUDA_SUCCESS);
}

template <typename T>
std::vector<T> Get(const DeviceMemory& memory, size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(cuMemcpyDtoH(values.data(), memory.address(), count * sizeof(T)), CUDA_SUCCESS);
  return values;
}

class CufftLengths : public DeviceTest, public ::testing::WithParamInterface<size_t> {};

TEST_P(CufftLengths, ComplexLinesOfEachBatchInBothDirections) {
  const size_t n = GetParam();
  const std::vector<Complex> values = Values<Complex>(2 * n);
  DeviceMemory in(2 * n * sizeof(Complex));
  DeviceMemory out(2 * n * sizeof(Complex));
  cufftHandle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, static_cast<int>(n), CUFFT_Z2Z, 2), CUFFT_SUCCESS);
  for (const int direction : {-1, 1}) {
    Put(in, values);
    ASSERT_EQ(cufftExecZ2Z(plan, in.as<void>(), out.as<void>(), direction), CUFFT_SUCCESS);
    const auto result = Get<Complex>(out, 2 * n);
    for (size_t batch = 0; batch < 2; ++batch) {
      const auto expected = Defined(values.data() + batch * n, n, direction);
      for (size_t k = 0; k < n; ++k) {
        ASSERT_NEAR(std::abs(result[batch * n + k] - expected[k]), 0, 1e-8) << batch << " " << k;
      }
    }
  }
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Lengths, CufftLengths,
                         ::testing::Values(1, 2, 3, 8, 12, 17, 100, 127, 128));

TEST_F(CufftTest, ARealTransformHasHalfTheSpectrumAndComesBackInPlaceToo) {
  constexpr size_t kSize = 10;
  std::vector<float> values = Values<float>(kSize);
  DeviceMemory real(kSize * sizeof(float));
  DeviceMemory spectrum((kSize / 2 + 1) * sizeof(std::complex<float>));
  Put(real, values);
  cufftHandle forward = 0;
  cufftHandle back = 0;
  ASSERT_EQ(cufftPlan1d(&forward, kSize, CUFFT_R2C, 1), CUFFT_SUCCESS);
  ASSERT_EQ(cufftPlan1d(&back, kSize, CUFFT_C2R, 1), CUFFT_SUCCESS);
  ASSERT_EQ(cufftExecR2C(forward, real.as<void>(), spectrum.as<void>()), CUFFT_SUCCESS);
  const auto expected = Defined(values.data(), kSize, -1);
  const auto result = Get<std::complex<float>>(spectrum, kSize / 2 + 1);
  for (size_t k = 0; k <= kSize / 2; ++k)
    EXPECT_NEAR(std::abs(Complex(result[k]) - expected[k]), 0, 1e-4);
  ASSERT_EQ(cufftExecC2R(back, spectrum.as<void>(), spectrum.as<void>()), CUFFT_SUCCESS);
  const auto again = Get<float>(spectrum, kSize);
  for (size_t i = 0; i < kSize; ++i) EXPECT_NEAR(again[i], kSize * values[i], 1e-3);
  cufftDestroy(forward);
  cufftDestroy(back);
}

TEST_F(CufftTest, TwoDimensionsAreLinesOfLines) {
  constexpr int kRows = 3;
  constexpr int kColumns = 4;
  const auto values = Values<std::complex<float>>(kRows * kColumns);
  DeviceMemory memory(values.size() * sizeof(values[0]));
  Put(memory, values);
  cufftHandle plan = 0;
  ASSERT_EQ(cufftPlan2d(&plan, kRows, kColumns, CUFFT_C2C), CUFFT_SUCCESS);
  ASSERT_EQ(cufftExecC2C(plan, memory.as<void>(), memory.as<void>(), -1), CUFFT_SUCCESS);
  const auto result = Get<std::complex<float>>(memory, values.size());
  for (int k = 0; k < kRows; ++k) {
    for (int l = 0; l < kColumns; ++l) {
      Complex expected = 0;
      for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < kColumns; ++j) {
          const double turn = 1.0 * i * k / kRows + 1.0 * j * l / kColumns;
          expected += Complex(values[static_cast<size_t>(i) * kColumns + static_cast<size_t>(j)]) *
                      std::polar(1.0, -2 * kPi * turn);
        }
      }
      EXPECT_NEAR(
          std::abs(Complex(result[static_cast<size_t>(k) * kColumns + static_cast<size_t>(l)]) -
                   expected),
          0, 1e-4);
    }
  }
  cufftDestroy(plan);
}

TEST_F(CufftTest, StridesAndDistancesAreKept) {
  // Two interleaved lines of four.
  const auto values = Values<std::complex<float>>(8);
  DeviceMemory in(8 * sizeof(values[0]));
  DeviceMemory out(8 * sizeof(values[0]));
  Put(in, values);
  int n[] = {4};
  cufftHandle plan = 0;
  ASSERT_EQ(cufftPlanMany(&plan, 1, n, n, 2, 1, n, 1, 4, CUFFT_C2C, 2), CUFFT_SUCCESS);
  ASSERT_EQ(cufftExecC2C(plan, in.as<void>(), out.as<void>(), -1), CUFFT_SUCCESS);
  const auto result = Get<std::complex<float>>(out, 8);
  for (size_t line = 0; line < 2; ++line) {
    const std::complex<float> taken[] = {values[line], values[2 + line], values[4 + line],
                                         values[6 + line]};
    const auto expected = Defined(taken, 4, -1);
    for (size_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(std::abs(Complex(result[4 * line + k]) - expected[k]), 0, 1e-4);
    }
  }
  cufftDestroy(plan);
}

TEST_F(CufftTest, AWorkAreaIsDeviceMemoryUnlessTheApplicationBringsIt) {
  const size_t before = UsedMemory();
  cufftHandle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, 1 << 20, CUFFT_C2C, 1), CUFFT_SUCCESS);
  size_t bytes = 0;
  EXPECT_EQ(cufftGetSize(plan, &bytes), CUFFT_SUCCESS);
  EXPECT_EQ(bytes, size_t{8} << 20);
  EXPECT_GE(UsedMemory(), before + bytes);
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
  EXPECT_EQ(UsedMemory(), before);
  ASSERT_EQ(cufftCreate(&plan), CUFFT_SUCCESS);
  EXPECT_EQ(cufftSetAutoAllocation(plan, 0), CUFFT_SUCCESS);
  EXPECT_EQ(cufftMakePlan1d(plan, 1 << 20, CUFFT_C2C, 1, &bytes), CUFFT_SUCCESS);
  EXPECT_EQ(UsedMemory(), before);
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

TEST_F(CufftTest, WrongPlansSizesAndUnsimulatedCallsAreRefused) {
  cufftHandle plan = 0;
  EXPECT_EQ(cufftPlan1d(&plan, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
  EXPECT_EQ(cufftPlan1d(&plan, 8, static_cast<cufftType>(3), 1), CUFFT_INVALID_TYPE);
  EXPECT_EQ(cufftDestroy(12345), CUFFT_INVALID_PLAN);
  ASSERT_EQ(cufftCreate(&plan), CUFFT_SUCCESS);
  EXPECT_EQ(cufftExecC2C(plan, &plan, &plan, -1), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftXtSetGPUs(plan, 1, nullptr), CUFFT_NOT_SUPPORTED);
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
}

}  // namespace
}  // namespace vramstow
