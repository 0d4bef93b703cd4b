// Tests the cuRAND stand-in. Random numbers are queued but not computed.
#include "tests/libraries/device_fixture.h"

extern "C" {
int curandCreateGenerator(void** generator, int rng_type);
int curandCreateGeneratorHost(void** generator, int rng_type);
int curandDestroyGenerator(void* generator);
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

  void* generator_ = nullptr;
};

TEST_F(CurandTest, NumbersAreQueuedAndLeftOut) {
  DeviceMemory memory(kCount * sizeof(double));
  {
    SeenKernel kernel("curand_generate");
    ASSERT_EQ(curandGenerateUniform(generator_, memory.as<float>(), kCount), 0);
    ASSERT_EQ(curandGenerateNormalDouble(generator_, memory.as<double>(), kCount, 3, 2), 0);
    ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(kernel.launches().size(), 2u);
    EXPECT_EQ(kernel.launches()[1].words[4], kCount) << "the sequence goes on";
  }
  ExpectLeftOut(memory.address(), kCount * sizeof(double));
  constexpr int kLengthNotMultiple = 105;
  EXPECT_EQ(curandGenerateNormalDouble(generator_, memory.as<double>(), 3, 0, 1),
            kLengthNotMultiple);
}

TEST_F(CurandTest, WhatAnOperatorComputesIsNotLeftOut) {
  DeviceMemory memory(64);
  ASSERT_EQ(cuMemsetD8(memory.address(), 7, 64), CUDA_SUCCESS);
  vramstowSimulatorHoldKernels(1);
  EXPECT_EQ(curandGenerateUniform(generator_, memory.as<float>(), 16), 0);
  vramstowSimulatorHoldKernels(-1);
  const uint64_t before = vramstowSimulatorCountUncomputedReads();
  float numbers[16];
  EXPECT_EQ(cuMemcpyDtoH(numbers, memory.address(), sizeof numbers), CUDA_SUCCESS);
  EXPECT_EQ(vramstowSimulatorCountUncomputedReads(), before);
}

TEST_F(CurandTest, WhatIsNotSimulatedIsRefused) {
  constexpr int kTypeError = 103;
  constexpr int kInternalError = 999;
  void* quasi = nullptr;
  EXPECT_EQ(curandCreateGenerator(&quasi, kSobol), kTypeError);
  EXPECT_EQ(curandCreateGeneratorHost(&quasi, kPhilox), kInternalError);
  EXPECT_EQ(curandGeneratePoisson(generator_, nullptr, 1, 2), kInternalError);
}

}  // namespace
}  // namespace vramstow
