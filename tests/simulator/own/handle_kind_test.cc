// Tests that a CUkernel is not a CUfunction: only launches, kernel nodes and occupancy queries
// accept both. For a wrong handle the simulated driver returns an error, but the driver of a real
// GPU may crash, so these tests do not run on a real GPU.
#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

constexpr char kImage[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry first(.param .u32 a, .param .u64 b)\n{\n  ret;\n}\n";

class HandleKindTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    ASSERT_OK(
        driver_.cuLibraryLoadData(&library_, kImage, nullptr, nullptr, 0, nullptr, nullptr, 0));
    ASSERT_OK(driver_.cuLibraryGetKernel(&kernel_, library_, "first"));
    ASSERT_OK(driver_.cuKernelGetFunction(&function_, kernel_));
    ASSERT_OK(driver_.cuModuleLoadData(&module_, kImage));
    ASSERT_OK(driver_.cuModuleGetFunction(&other_function_, module_, "first"));
  }
  void TearDown() override {
    if (library_ != nullptr) {
      EXPECT_OK(driver_.cuLibraryUnload(library_));
    }
    EXPECT_OK(driver_.cuModuleUnload(module_));
    ContractTest::TearDown();
  }

  CUresult Launch(CUfunction function) {
    unsigned a = 0;
    CUdeviceptr b = 0;
    void* parameters[] = {&a, &b};
    return driver_.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
  }
  CUfunction kernel_as_function() const { return reinterpret_cast<CUfunction>(kernel_); }

  CUlibrary library_ = nullptr;
  CUmodule module_ = nullptr;
  CUkernel kernel_ = nullptr;
  CUfunction function_ = nullptr;        // the function of the kernel
  CUfunction other_function_ = nullptr;  // the function of the module
};

TEST_F(HandleKindTest, AKernelIsRefusedWhereAFunctionIsAsked) {
  ASSERT_NE(kernel_as_function(), function_);
  int value = 0;
  size_t offset = 0;
  size_t bytes = 0;
  const char* name = nullptr;
  const CUfunction kernel = kernel_as_function();
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuFuncGetParamInfo(kernel, 0, &offset, &bytes));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuFuncGetParamCount(kernel, &bytes));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuFuncGetName(&name, kernel));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
              driver_.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel));
  EXPECT_CUDA(
      CUDA_ERROR_INVALID_HANDLE,
      driver_.cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
}

TEST_F(HandleKindTest, AFunctionIsRefusedWhereAKernelIsAsked) {
  size_t offset = 0;
  size_t bytes = 0;
  int value = 0;
  const char* name = nullptr;
  for (const CUfunction function : {function_, other_function_}) {
    const auto kernel = reinterpret_cast<CUkernel>(function);
    CUfunction got = nullptr;
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuKernelGetFunction(&got, kernel));
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
                driver_.cuKernelGetParamInfo(kernel, 0, &offset, &bytes));
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuKernelGetName(&name, kernel));
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE,
                driver_.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, device_));
  }
}

TEST_F(HandleKindTest, KernelNodesTellTheTwoApart) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  unsigned a = 0;
  CUdeviceptr b = 0;
  void* parameters[] = {&a, &b};
  ASSERT_OK(driver_.cuGraphCreate(&graph, 0));
  CUDA_KERNEL_NODE_PARAMS given = {};
  given.gridDimX = given.gridDimY = given.gridDimZ = 1;
  given.blockDimX = given.blockDimY = given.blockDimZ = 1;
  given.kernelParams = parameters;
  given.func = kernel_as_function();
  EXPECT_NE(CUDA_SUCCESS, driver_.cuGraphAddKernelNode(&node, graph, nullptr, 0, &given));
  given.func = nullptr;
  given.kern = reinterpret_cast<CUkernel>(function_);
  EXPECT_NE(CUDA_SUCCESS, driver_.cuGraphAddKernelNode(&node, graph, nullptr, 0, &given));
  given.kern = kernel_;
  EXPECT_OK(driver_.cuGraphAddKernelNode(&node, graph, nullptr, 0, &given));
  EXPECT_OK(driver_.cuGraphDestroy(graph));
}

TEST_F(HandleKindTest, NeitherIsTakenOnceItsLibraryIsGone) {
  EXPECT_OK(Launch(kernel_as_function()));
  EXPECT_OK(Launch(function_));
  EXPECT_OK(driver_.cuCtxSynchronize());
  EXPECT_OK(driver_.cuLibraryUnload(library_));
  library_ = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, Launch(kernel_as_function()));
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, Launch(function_));
  EXPECT_OK(Launch(other_function_));
}

}  // namespace
}  // namespace vramstow::simulator
