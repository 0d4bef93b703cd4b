// Tests the cuFFT stand-in: plans and their memory. Transforms are queued but not computed.
#include "tests/libraries/device_fixture.h"

extern "C" {
int cufftCreate(int* handle);
int cufftDestroy(int plan);
int cufftPlan1d(int* plan, int nx, int type, int batch);
int cufftPlan2d(int* plan, int nx, int ny, int type);
int cufftPlanMany(int* plan, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                  int ostride, int odist, int type, int batch);
int cufftGetSize(int plan, size_t* workSize);
int cufftSetAutoAllocation(int plan, int autoAllocate);
int cufftMakePlan1d(int plan, int nx, int type, int batch, size_t* workSize);
int cufftExecC2C(int plan, void* input, void* output, int direction);
int cufftExecR2C(int plan, void* input, void* output);
int cufftExecC2R(int plan, void* input, void* output);
int cufftXtSetGPUs(int handle, int nGPUs, int* whichGPUs);
}

namespace vramstow {
namespace {

// Values of cufftResult and cufftType.
constexpr int kSuccess = 0;
constexpr int kInvalidPlan = 1;
constexpr int kInvalidType = 3;
constexpr int kInvalidSize = 8;
constexpr int kNotSupported = 16;
constexpr int kComplex = 0x29;
constexpr int kRealToComplex = 0x2a;
constexpr int kComplexToReal = 0x2c;

using CufftTest = DeviceTest;

// Expects the output of one transform of `floats` floats, from one buffer to another or in place.
void ExpectOutput(int plan, int (*execute)(int, void*, void*), size_t floats, bool in_place) {
  DeviceMemory in(4096);
  DeviceMemory out(4096);
  const DeviceMemory& to = in_place ? in : out;
  ASSERT_EQ(cuMemsetD8(in.address(), 1, 4096), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8(out.address(), 1, 4096), CUDA_SUCCESS);
  SeenKernel kernel("cufft_transform");
  ASSERT_EQ(execute(plan, in.as<void>(), to.as<void>()), kSuccess);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(kernel.launches().size(), 1u);
  EXPECT_EQ(kernel.launches()[0].words[1], to.address());
  ExpectLeftOut(to.address(), floats * sizeof(float));
  char beyond = 0;
  ASSERT_EQ(cuMemcpyDtoH(&beyond, to.address() + floats * sizeof(float), 1), CUDA_SUCCESS);
  EXPECT_EQ(beyond, 1);
}

int Forward(int plan, void* input, void* output) { return cufftExecC2C(plan, input, output, -1); }

TEST_F(CufftTest, OutputsAreAsLargeAsTheirLayoutSays) {
  int plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, 12, kComplex, 3), kSuccess);
  ExpectOutput(plan, Forward, 2 * 12 * 3, false);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
  ASSERT_EQ(cufftPlan2d(&plan, 3, 10, kRealToComplex), kSuccess);
  ExpectOutput(plan, cufftExecR2C, 2 * 3 * 6, false);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
  ASSERT_EQ(cufftPlan2d(&plan, 3, 10, kComplexToReal), kSuccess);
  ExpectOutput(plan, cufftExecC2R, 3 * 10, false);
  // In a transform in place, rows of real numbers are padded to the length of complex rows.
  ExpectOutput(plan, cufftExecC2R, 3 * 12 - 2, true);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
  // The plan transforms two rows of four elements. The elements of the two input rows alternate;
  // the output rows are contiguous.
  int n[] = {4};
  ASSERT_EQ(cufftPlanMany(&plan, 1, n, n, 2, 1, n, 1, 5, kComplex, 2), kSuccess);
  ExpectOutput(plan, Forward, 2 * (5 + 4), false);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

TEST_F(CufftTest, AWorkAreaIsDeviceMemoryUnlessTheApplicationBringsIt) {
  const size_t before = UsedMemory();
  int plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, 1 << 20, kComplex, 1), kSuccess);
  size_t bytes = 0;
  EXPECT_EQ(cufftGetSize(plan, &bytes), kSuccess);
  EXPECT_EQ(bytes, size_t{8} << 20);
  EXPECT_GE(UsedMemory(), before + bytes);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
  EXPECT_EQ(UsedMemory(), before);
  ASSERT_EQ(cufftCreate(&plan), kSuccess);
  EXPECT_EQ(cufftSetAutoAllocation(plan, 0), kSuccess);
  EXPECT_EQ(cufftMakePlan1d(plan, 1 << 20, kComplex, 1, &bytes), kSuccess);
  EXPECT_EQ(UsedMemory(), before);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

TEST_F(CufftTest, WrongPlansSizesAndUnsimulatedCallsAreRefused) {
  int plan = 0;
  EXPECT_EQ(cufftPlan1d(&plan, 0, kComplex, 1), kInvalidSize);
  EXPECT_EQ(cufftPlan1d(&plan, 8, 3, 1), kInvalidType);
  EXPECT_EQ(cufftDestroy(12345), kInvalidPlan);
  ASSERT_EQ(cufftCreate(&plan), kSuccess);
  EXPECT_EQ(cufftExecC2C(plan, &plan, &plan, -1), kInvalidPlan);
  EXPECT_EQ(cufftXtSetGPUs(plan, 1, nullptr), kNotSupported);
  EXPECT_EQ(cufftDestroy(plan), kSuccess);
}

}  // namespace
}  // namespace vramstow
