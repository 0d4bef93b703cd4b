// Tests the cuFFT stand-in: plans and their memory. Transforms are queued but not computed.
#include "simulator/runtime/libraries/cufft/api.h"

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
VRAMSTOW_CUFFT cufftResult cufftExecR2C(cufftHandle plan, void* input, void* output);
VRAMSTOW_CUFFT cufftResult cufftExecC2R(cufftHandle plan, void* input, void* output);
VRAMSTOW_CUFFT cufftResult cufftXtSetGPUs(cufftHandle handle, int nGPUs, int* whichGPUs);

namespace vramstow {
namespace {

using CufftTest = DeviceTest;

// Expects the output of one transform of `floats` floats, from one buffer to another or in place.
void ExpectOutput(cufftHandle plan, cufftResult (*execute)(cufftHandle, void*, void*),
                  size_t floats, bool in_place) {
  DeviceMemory in(4096);
  DeviceMemory out(4096);
  const DeviceMemory& to = in_place ? in : out;
  ASSERT_EQ(cuMemsetD8(in.address(), 1, 4096), CUDA_SUCCESS);
  ASSERT_EQ(cuMemsetD8(out.address(), 1, 4096), CUDA_SUCCESS);
  SeenKernel kernel("cufft_transform");
  ASSERT_EQ(execute(plan, in.as<void>(), to.as<void>()), CUFFT_SUCCESS);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  ASSERT_EQ(kernel.launches().size(), 1u);
  EXPECT_EQ(kernel.launches()[0].words[1], to.address());
  ExpectLeftOut(to.address(), floats * sizeof(float));
  char beyond = 0;
  ASSERT_EQ(cuMemcpyDtoH(&beyond, to.address() + floats * sizeof(float), 1), CUDA_SUCCESS);
  EXPECT_EQ(beyond, 1);
}

cufftResult Forward(cufftHandle plan, void* input, void* output) {
  return cufftExecC2C(plan, input, output, -1);
}

TEST_F(CufftTest, OutputsAreAsLargeAsTheirLayoutSays) {
  cufftHandle plan = 0;
  ASSERT_EQ(cufftPlan1d(&plan, 12, CUFFT_C2C, 3), CUFFT_SUCCESS);
  ExpectOutput(plan, Forward, 2 * 12 * 3, false);
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
  ASSERT_EQ(cufftPlan2d(&plan, 3, 10, CUFFT_R2C), CUFFT_SUCCESS);
  ExpectOutput(plan, cufftExecR2C, 2 * 3 * 6, false);
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
  ASSERT_EQ(cufftPlan2d(&plan, 3, 10, CUFFT_C2R), CUFFT_SUCCESS);
  ExpectOutput(plan, cufftExecC2R, 3 * 10, false);
  // In place, rows of real numbers are padded to the length of complex rows.
  ExpectOutput(plan, cufftExecC2R, 3 * 12 - 2, true);
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
  // Two lines of four elements: the input is interleaved, the output is contiguous.
  int n[] = {4};
  ASSERT_EQ(cufftPlanMany(&plan, 1, n, n, 2, 1, n, 1, 5, CUFFT_C2C, 2), CUFFT_SUCCESS);
  ExpectOutput(plan, Forward, 2 * (5 + 4), false);
  EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
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
