// The cuRAND stand-in: numbers of the right kind, the same again for the same seed.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/libraries/device_fixture.h"

extern "C" {
int curandCreateGenerator(void** generator, int rng_type);
int curandCreateGeneratorHost(void** generator, int rng_type);
int curandDestroyGenerator(void* generator);
int curandSetPseudoRandomGeneratorSeed(void* generator, unsigned long long seed);
int curandSetGeneratorOffset(void* generator, unsigned long long offset);
int curandGenerate(void* generator, unsigned* output, size_t num);
int curandGenerateUniform(void* generator, float* output, size_t num);
int curandGenerateNormalDouble(void* generator, double* output, size_t n, double mean,
                               double stddev);
int curandGeneratePoisson(void* generator, unsigned* output, size_t n, double lambda);
}

namespace vramstow {
namespace {

constexpr int kPhilox = 161;
constexpr int kSobol = 201;
constexpr size_t kCount = 20000;

class CurandTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(curandCreateGenerator(&generator_, kPhilox), 0);
  }
  void TearDown() override { EXPECT_EQ(curandDestroyGenerator(generator_), 0); }

  template <typename T>
  static std::vector<T> Read(const DeviceMemory& memory) {
    std::vector<T> values(kCount);
    EXPECT_EQ(cuMemcpyDtoH(values.data(), memory.address(), kCount * sizeof(T)), CUDA_SUCCESS);
    return values;
  }

  void* generator_ = nullptr;
};

TEST_F(CurandTest, UniformNumbersAreAboveZeroAndAtMostOne) {
  DeviceMemory memory(kCount * sizeof(float));
  ASSERT_EQ(curandGenerateUniform(generator_, memory.as<float>(), kCount), 0);
  const auto values = Read<float>(memory);
  EXPECT_GT(*std::min_element(values.begin(), values.end()), 0.0F);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 1.0F);
  EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / kCount, 0.5, 0.01);
}

TEST_F(CurandTest, NormalNumbersHaveTheirMeanAndDeviation) {
  DeviceMemory memory(kCount * sizeof(double));
  ASSERT_EQ(curandGenerateNormalDouble(generator_, memory.as<double>(), kCount, 3, 2), 0);
  const auto values = Read<double>(memory);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / kCount;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  EXPECT_NEAR(mean, 3, 0.06);
  EXPECT_NEAR(std::sqrt(squares / kCount), 2, 0.06);
  constexpr int kLengthNotMultiple = 105;
  EXPECT_EQ(curandGenerateNormalDouble(generator_, memory.as<double>(), 3, 0, 1),
            kLengthNotMultiple);
}

TEST_F(CurandTest, ASeedGivesTheSameNumbersAgainOnTheHostToo) {
  DeviceMemory memory(kCount * sizeof(unsigned));
  ASSERT_EQ(curandSetPseudoRandomGeneratorSeed(generator_, 7), 0);
  ASSERT_EQ(curandGenerate(generator_, memory.as<unsigned>(), kCount), 0);
  const auto first = Read<unsigned>(memory);
  ASSERT_EQ(curandGenerate(generator_, memory.as<unsigned>(), kCount), 0);
  EXPECT_NE(Read<unsigned>(memory), first) << "the sequence goes on";
  ASSERT_EQ(curandSetGeneratorOffset(generator_, 0), 0);
  ASSERT_EQ(curandGenerate(generator_, memory.as<unsigned>(), kCount), 0);
  EXPECT_EQ(Read<unsigned>(memory), first);
  void* host = nullptr;
  std::vector<unsigned> values(kCount);
  ASSERT_EQ(curandCreateGeneratorHost(&host, kPhilox), 0);
  ASSERT_EQ(curandSetPseudoRandomGeneratorSeed(host, 7), 0);
  ASSERT_EQ(curandGenerate(host, values.data(), kCount), 0);
  EXPECT_EQ(values, first);
  EXPECT_EQ(curandDestroyGenerator(host), 0);
}

TEST_F(CurandTest, WhatIsNotSimulatedIsRefused) {
  constexpr int kTypeError = 103;
  constexpr int kInternalError = 999;
  void* quasi = nullptr;
  EXPECT_EQ(curandCreateGenerator(&quasi, kSobol), kTypeError);
  EXPECT_EQ(curandGeneratePoisson(generator_, nullptr, 1, 2), kInternalError);
}

}  // namespace
}  // namespace vramstow
