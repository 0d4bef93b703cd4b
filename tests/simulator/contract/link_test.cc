// Tests linking by the driver, and queries of modules.
#include <string.h>
#include <unistd.h>

#include <set>
#include <string>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

constexpr char kFirst[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .align 4 .b8 table[64];\n"
    ".visible .entry first(.param .u32 a, .param .u64 b)\n.maxntid 128, 1, 1\n{\n"
    "  .shared .align 4 .b8 room[256];\n  ret;\n}\n";
constexpr char kSecond[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry second()\n{\n  ret;\n}\n";

class LinkTest : public ContractTest {
 protected:
  void SetUp() override {
    ContractTest::SetUp();
    ASSERT_OK(driver_.cuLinkCreate(0, nullptr, nullptr, &link_));
  }
  void TearDown() override {
    if (link_ != nullptr) {
      EXPECT_OK(driver_.cuLinkDestroy(link_));
    }
    ContractTest::TearDown();
  }

  CUresult Add(const char* ptx, CUjitInputType type = CU_JIT_INPUT_PTX) {
    return driver_.cuLinkAddData(link_, type, const_cast<char*>(ptx), strlen(ptx) + 1, "input", 0,
                                 nullptr, nullptr);
  }

  CUlinkState link_ = nullptr;
};
using UndefinedLinkTest = LinkTest;

TEST_F(LinkTest, TheImageHasTheKernelsAndVariablesOfAllInputs) {
  ASSERT_OK(Add(kFirst));
  ASSERT_OK(Add(kSecond));
  void* image = nullptr;
  size_t size = 0;
  ASSERT_OK(driver_.cuLinkComplete(link_, &image, &size));
  EXPECT_GT(size, 0u);
  CUmodule module = nullptr;
  ASSERT_OK(driver_.cuModuleLoadData(&module, image));
  CUfunction function = nullptr;
  EXPECT_OK(driver_.cuModuleGetFunction(&function, module, "second"));
  EXPECT_OK(driver_.cuModuleGetFunction(&function, module, "first"));
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, driver_.cuModuleGetFunction(&function, module, "third"));
  CUdeviceptr table = 0;
  size_t bytes = 0;
  EXPECT_OK(driver_.cuModuleGetGlobal(&table, &bytes, module, "table"));
  EXPECT_EQ(64u, bytes);
  EXPECT_OK(driver_.cuModuleUnload(module));
}

TEST_F(LinkTest, KernelsKeepTheirLimitsAndParameters) {
  ASSERT_OK(Add(kFirst));
  void* image = nullptr;
  size_t size = 0;
  ASSERT_OK(driver_.cuLinkComplete(link_, &image, &size));
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(driver_.cuModuleLoadData(&module, image));
  ASSERT_OK(driver_.cuModuleGetFunction(&function, module, "first"));
  int value = 0;
  EXPECT_OK(driver_.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  EXPECT_EQ(128, value);
  EXPECT_OK(driver_.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
  EXPECT_EQ(256, value);
  size_t offset = 0;
  size_t bytes = 0;
  EXPECT_OK(driver_.cuFuncGetParamInfo(function, 1, &offset, &bytes));
  EXPECT_EQ(8u, offset);
  EXPECT_EQ(8u, bytes);
  EXPECT_OK(driver_.cuModuleUnload(module));
}

TEST_F(LinkTest, TextThatIsNoPtxIsRefusedWhenItIsAdded) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_IMAGE, Add("this is no PTX"));
}

TEST_F(LinkTest, TheCallersBufferSaysWhatIsWrong) {
  char text[256] = {};
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {text, reinterpret_cast<void*>(sizeof(text))};
  CUlinkState link = nullptr;
  ASSERT_OK(driver_.cuLinkCreate(2, names, values, &link));
  EXPECT_NE(CUDA_SUCCESS, driver_.cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>("bad"), 4,
                                                "input", 0, nullptr, nullptr));
  EXPECT_STRNE("", text);
  EXPECT_OK(driver_.cuLinkDestroy(link));
}

TEST_F(LinkTest, AMissingFileIsNotFound) {
  EXPECT_CUDA(
      CUDA_ERROR_FILE_NOT_FOUND,
      driver_.cuLinkAddFile(link_, CU_JIT_INPUT_PTX, "/no/such/file.ptx", 0, nullptr, nullptr));
}

TEST_F(LinkTest, AFileIsReadAsDataIs) {
  char path[] = "/tmp/vramstow-link-XXXXXX";
  const int file = mkstemp(path);
  ASSERT_EQ(static_cast<ssize_t>(strlen(kSecond)), write(file, kSecond, strlen(kSecond)));
  close(file);
  EXPECT_OK(driver_.cuLinkAddFile(link_, CU_JIT_INPUT_PTX, path, 0, nullptr, nullptr));
  unlink(path);
}

TEST_F(UndefinedLinkTest, ADestroyedLinkIsRefused) {
  ASSERT_OK(driver_.cuLinkDestroy(link_));
  void* image = nullptr;
  size_t size = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, driver_.cuLinkComplete(link_, &image, &size));
  link_ = nullptr;
}

TEST_F(LinkTest, FunctionsOfAModuleAreCountedAndListed) {
  CUmodule module = nullptr;
  const std::string both = std::string(kFirst) + ".visible .entry other()\n{\n  ret;\n}\n";
  ASSERT_OK(driver_.cuModuleLoadData(&module, both.c_str()));
  unsigned count = 0;
  ASSERT_OK(driver_.cuModuleGetFunctionCount(&count, module));
  ASSERT_EQ(2u, count);
  CUfunction functions[2] = {};
  ASSERT_OK(driver_.cuModuleEnumerateFunctions(functions, count, module));
  std::set<std::string> names;
  for (CUfunction function : functions) {
    const char* name = nullptr;
    ASSERT_OK(driver_.cuFuncGetName(&name, function));
    names.insert(name);
  }
  EXPECT_EQ((std::set<std::string>{"first", "other"}), names);
  EXPECT_OK(driver_.cuModuleUnload(module));
}

TEST_F(LinkTest, ParametersOfAFunctionAreCounted) {
  NEEDS(cuFuncGetParamCount);
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(driver_.cuModuleLoadData(&module, kFirst));
  ASSERT_OK(driver_.cuModuleGetFunction(&function, module, "first"));
  size_t count = 0;
  EXPECT_OK(driver_.cuFuncGetParamCount(function, &count));
  EXPECT_EQ(2u, count);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuFuncGetParamCount(function, nullptr));
  EXPECT_OK(driver_.cuModuleUnload(module));
}

// A kernel of a library has its own functions for queries (cuKernel...). Launches and occupancy
// queries accept its handle in place of a function's handle.
TEST_F(LinkTest, AKernelOfALibraryIsLaunchedAsAFunctionIs) {
  NEEDS(cuKernelGetParamInfo);
  NEEDS(cuKernelGetName);
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  ASSERT_OK(driver_.cuLibraryLoadData(&library, kFirst, nullptr, nullptr, 0, nullptr, nullptr, 0));
  ASSERT_OK(driver_.cuLibraryGetKernel(&kernel, library, "first"));
  size_t offset = 0;
  size_t bytes = 0;
  int value = 0;
  const char* name = nullptr;
  CUlibrary owner = nullptr;
  EXPECT_OK(driver_.cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
  EXPECT_EQ(8u, offset);
  EXPECT_OK(driver_.cuKernelGetName(&name, kernel));
  EXPECT_STREQ("first", name);
  EXPECT_OK(driver_.cuKernelGetLibrary(&owner, kernel));
  EXPECT_EQ(library, owner);
  EXPECT_OK(driver_.cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel,
                                         device_));
  EXPECT_EQ(128, value);
  CUfunction function = nullptr;
  ASSERT_OK(driver_.cuKernelGetFunction(&function, kernel));
  EXPECT_OK(driver_.cuFuncGetParamInfo(function, 1, &offset, &bytes));
  unsigned a = 0;
  CUdeviceptr b = 0;
  void* parameters[] = {&a, &b};
  for (const CUfunction launched : {function, reinterpret_cast<CUfunction>(kernel)}) {
    EXPECT_OK(
        driver_.cuLaunchKernel(launched, 1, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr));
    EXPECT_OK(driver_.cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, launched, 128, 0));
    EXPECT_GT(value, 0);
  }
  EXPECT_OK(driver_.cuCtxSynchronize());
  EXPECT_OK(driver_.cuLibraryUnload(library));
}

// If the attribute says that a device has no multicast, the functions for multicast return "not
// supported".
TEST_F(LinkTest, MulticastIsSupportedWhereTheAttributeSaysSo) {
  int supported = 0;
  ASSERT_OK(
      driver_.cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device_));
  CUmulticastObjectProp properties = {};
  properties.numDevices = 1;
  properties.size = 2 * kMiB;
  size_t granularity = 0;
  const CUresult result = driver_.cuMulticastGetGranularity(&granularity, &properties,
                                                            CU_MULTICAST_GRANULARITY_MINIMUM);
  EXPECT_EQ(supported != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED, result);
}

TEST_F(LinkTest, AFunctionSaysForWhichCardItsPtxIsAndForWhichItWasCompiled) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  ASSERT_OK(driver_.cuModuleLoadData(&module, kFirst));
  ASSERT_OK(driver_.cuModuleGetFunction(&function, module, "first"));
  int value = 0;
  EXPECT_OK(driver_.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
  EXPECT_EQ(70, value);
  int major = 0;
  int minor = 0;
  ASSERT_OK(driver_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  ASSERT_OK(driver_.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  EXPECT_OK(driver_.cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
  EXPECT_EQ(major * 10 + minor, value);
  EXPECT_OK(driver_.cuModuleUnload(module));
}

TEST_F(LinkTest, PtxThatTheDriverCannotCompileIsRefused) {
  CUmodule module = nullptr;
  const std::string newer = std::string(kSecond).replace(9, 3, "99.0");
  EXPECT_CUDA(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, driver_.cuModuleLoadData(&module, newer.c_str()));
  EXPECT_CUDA(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, Add(newer.c_str()));
  const std::string other = std::string(kSecond).replace(9, 18, "9.0\n.target sm_999");
  EXPECT_CUDA(CUDA_ERROR_INVALID_PTX, driver_.cuModuleLoadData(&module, other.c_str()));
}

}  // namespace
}  // namespace vramstow::simulator
