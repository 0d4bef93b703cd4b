// Tests devices, contexts, entry points and errors.
#include <string.h>

#include <thread>

#include "tests/simulator/contract/driver.h"

namespace vramstow::simulator {
namespace {

using DeviceTest = ContractTest;
using ContextTest = ContractTest;
using EntryPointTest = ContractTest;
// Suites for undefined behaviour. In these tests the driver of a real GPU crashes, and the
// simulated driver returns an error. The acceptance kit for real GPUs skips suites whose names
// begin with "Undefined".
using UndefinedContextTest = ContractTest;
using UndefinedEntryPointTest = ContractTest;

TEST_F(DeviceTest, InitTakesNoFlags) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuInit(1));
  EXPECT_OK(driver_.cuInit(0));
}

TEST_F(DeviceTest, OrdinalsRunFromZeroToCount) {
  int count = 0;
  ASSERT_OK(driver_.cuDeviceGetCount(&count));
  ASSERT_GE(count, 1);
  CUdevice device = -1;
  EXPECT_OK(driver_.cuDeviceGet(&device, count - 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, driver_.cuDeviceGet(&device, count));
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, driver_.cuDeviceGet(&device, -1));
}

TEST_F(DeviceTest, NameIsCutToTheBuffer) {
  char name[128] = {};
  char start[5] = {};
  ASSERT_OK(driver_.cuDeviceGetName(name, sizeof(name), device_));
  ASSERT_OK(driver_.cuDeviceGetName(start, sizeof(start), device_));
  EXPECT_EQ(0, strncmp(name, start, 4));
  EXPECT_EQ('\0', start[4]);
}

TEST_F(DeviceTest, AttributesAreConsistentWithTheTable) {
  const auto get = [&](CUdevice_attribute attribute) {
    int value = -1;
    EXPECT_OK(driver_.cuDeviceGetAttribute(&value, attribute, device_));
    return value;
  };
  EXPECT_EQ(32, get(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  EXPECT_EQ(1024, get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  EXPECT_EQ(1, get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING));
  EXPECT_GT(get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 0);
  EXPECT_GE(get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 7);
  int value = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(250), device_));
}

TEST_F(DeviceTest, AttributesThatFollowFromTheArchitectureAreTheCards) {
  const auto get = [&](int attribute) {
    int value = -1;
    EXPECT_OK(
        driver_.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), device_));
    return value;
  };
  for (const int first_form : {92, 93, 94}) {
    EXPECT_EQ(0, get(first_form)) << "of stream memory operations";
  }
  const int major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(major >= 8 ? 1 : 0, get(CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED));
  if (major == 9) {
    EXPECT_EQ(128 << 20, get(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE));
  }
  int version = 0;
  int value = 0;
  ASSERT_OK(driver_.cuDriverGetVersion(&version));
  if (version < 13010) {
    EXPECT_CUDA(
        CUDA_ERROR_INVALID_VALUE,
        driver_.cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(148), device_));
  }
}

TEST_F(DeviceTest, UuidIsStableAndTellsDevicesApart) {
  CUuuid first;
  CUuuid again;
  ASSERT_OK(driver_.cuDeviceGetUuid(&first, device_));
  ASSERT_OK(driver_.cuDeviceGetUuid(&again, device_));
  EXPECT_EQ(0, memcmp(&first, &again, sizeof(first)));
  int count = 0;
  ASSERT_OK(driver_.cuDeviceGetCount(&count));
  if (count < 2) GTEST_SKIP() << "one device only";
  CUuuid second;
  ASSERT_OK(driver_.cuDeviceGetUuid(&second, 1));
  EXPECT_NE(0, memcmp(&first, &second, sizeof(first)));
}

TEST_F(DeviceTest, PciBusIdFindsTheDeviceAgain) {
  char id[32] = {};
  CUdevice found = -1;
  ASSERT_OK(driver_.cuDeviceGetPCIBusId(id, sizeof(id), device_));
  ASSERT_OK(driver_.cuDeviceGetByPCIBusId(&found, id));
  EXPECT_EQ(device_, found);
}

TEST_F(DeviceTest, MemoryInfoTakesNullAndAgreesWithTotal) {
  size_t free = 0;
  size_t total = 0;
  size_t device_total = 0;
  EXPECT_OK(driver_.cuMemGetInfo(nullptr, nullptr));
  ASSERT_OK(driver_.cuMemGetInfo(&free, &total));
  ASSERT_OK(driver_.cuDeviceTotalMem(&device_total, device_));
  EXPECT_EQ(device_total, total);
  EXPECT_LT(free, total) << "a context takes memory of its own";
}

TEST_F(ContextTest, PrimaryContextIsOnePerDeviceAndCounted) {
  CUcontext again = nullptr;
  ASSERT_OK(driver_.cuDevicePrimaryCtxRetain(&again, device_));
  EXPECT_EQ(context_, again);
  EXPECT_OK(driver_.cuDevicePrimaryCtxRelease(device_));
  unsigned flags = 0;
  int active = 0;
  EXPECT_OK(driver_.cuDevicePrimaryCtxGetState(device_, &flags, &active));
  EXPECT_EQ(1, active);
}

TEST_F(ContextTest, ReleaseWithoutRetainIsRefused) {
  int count = 0;
  ASSERT_OK(driver_.cuDeviceGetCount(&count));
  if (count < 2) GTEST_SKIP() << "one device only";
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.cuDevicePrimaryCtxRelease(1));
}

TEST_F(ContextTest, CallsWithoutContextAreRefused) {
  std::thread([&] {
    CUdeviceptr block = 0;
    CUdevice device = 0;
    CUcontext current = context_;
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.cuMemAlloc(&block, 1));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.cuCtxGetDevice(&device));
    EXPECT_OK(driver_.cuCtxGetCurrent(&current));
    EXPECT_EQ(nullptr, current);
  }).join();
}

TEST_F(ContextTest, StackPushesAndPops) {
  CUcontext made = nullptr;
  CUcontext current = nullptr;
  CUcontext popped = nullptr;
  ASSERT_OK(driver_.cuCtxCreate(&made, nullptr, 0, device_));
  ASSERT_OK(driver_.cuCtxGetCurrent(&current));
  EXPECT_EQ(made, current);
  ASSERT_OK(driver_.cuCtxPopCurrent(&popped));
  EXPECT_EQ(made, popped);
  ASSERT_OK(driver_.cuCtxGetCurrent(&current));
  EXPECT_EQ(context_, current);
  ASSERT_OK(driver_.cuCtxPushCurrent(made));
  EXPECT_OK(driver_.cuCtxDestroy(made));
  ASSERT_OK(driver_.cuCtxGetCurrent(&current));
  EXPECT_EQ(context_, current) << "destroying pops the context that is current";
}

TEST_F(UndefinedContextTest, DestroyedContextIsRefused) {
  CUcontext made = nullptr;
  ASSERT_OK(driver_.cuCtxCreate(&made, nullptr, 0, device_));
  ASSERT_OK(driver_.cuCtxDestroy(made));
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.cuCtxSetCurrent(made));
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, driver_.cuCtxDestroy(made));
}

TEST_F(ContextTest, DestroyingGivesMemoryBack) {
  const size_t before = FreeBytes();
  CUcontext made = nullptr;
  CUdeviceptr block = 0;
  ASSERT_OK(driver_.cuCtxCreate(&made, nullptr, 0, device_));
  ASSERT_OK(driver_.cuMemAlloc(&block, 64 * kMiB));
  ASSERT_OK(driver_.cuCtxDestroy(made));
  EXPECT_EQ(before, FreeBytes());
}

TEST_F(ContextTest, DestroyDropsStillCurrentElsewhere) {
  CUcontext made = nullptr;
  ASSERT_OK(driver_.cuCtxCreate(&made, nullptr, 0, device_));
  ASSERT_OK(driver_.cuCtxSetCurrent(context_));
  CUresult result = CUDA_SUCCESS;
  std::thread([&] {
    EXPECT_OK(driver_.cuCtxSetCurrent(made));
    EXPECT_OK(driver_.cuCtxDestroy(made));
    CUdeviceptr block = 0;
    ASSERT_OK(driver_.cuCtxSetCurrent(nullptr));
    result = driver_.cuMemAlloc(&block, 1);
  }).join();
  EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, result);
}

TEST_F(ContextTest, LimitsAreReadBack) {
  size_t value = 0;
  ASSERT_OK(driver_.cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 * kMiB));
  ASSERT_OK(driver_.cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
  EXPECT_GE(value, 16 * kMiB);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuCtxGetLimit(&value, CU_LIMIT_MAX));
}

TEST_F(ContextTest, LimitsBeginAsTheCardHasThem) {
  const auto get = [&](CUlimit limit) {
    size_t value = 0;
    EXPECT_OK(driver_.cuCtxGetLimit(&value, limit));
    return value;
  };
  const auto of_card = [&](CUdevice_attribute attribute) {
    int value = 0;
    EXPECT_OK(driver_.cuDeviceGetAttribute(&value, attribute, device_));
    return static_cast<size_t>(value);
  };
  EXPECT_EQ(65536 * of_card(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT),
            get(CU_LIMIT_PRINTF_FIFO_SIZE));
  EXPECT_EQ(2048u, get(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT));
  EXPECT_EQ(64u, get(CU_LIMIT_MAX_L2_FETCH_GRANULARITY));
  EXPECT_EQ(of_card(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            get(CU_LIMIT_SHMEM_SIZE));
  const bool hopper = of_card(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 9;
  size_t depth = 0;
  EXPECT_CUDA(hopper ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_SUCCESS,
              driver_.cuCtxGetLimit(&depth, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
  if (hopper) {
    EXPECT_EQ(of_card(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) / 16 * 3,
              get(CU_LIMIT_PERSISTING_L2_CACHE_SIZE));
  }
}

TEST_F(ContextTest, IdsAreUnique) {
  unsigned long long first = 0;
  unsigned long long second = 0;
  CUcontext made = nullptr;
  ASSERT_OK(driver_.cuCtxGetId(context_, &first));
  ASSERT_OK(driver_.cuCtxCreate(&made, nullptr, 0, device_));
  ASSERT_OK(driver_.cuCtxGetId(made, &second));
  EXPECT_NE(first, second);
  EXPECT_OK(driver_.cuCtxDestroy(made));
}

TEST_F(EntryPointTest, VersionChoosesTheForm) {
  void* old_form = nullptr;
  void* new_form = nullptr;
  CUdriverProcAddressQueryResult status;
  ASSERT_OK(driver_.cuGetProcAddress("cuStreamGetCaptureInfo", &old_form, 11030, 0, &status));
  ASSERT_OK(driver_.cuGetProcAddress("cuStreamGetCaptureInfo", &new_form, 12030, 0, &status));
  EXPECT_NE(nullptr, old_form);
  EXPECT_NE(nullptr, new_form);
  EXPECT_NE(old_form, new_form);
}

TEST_F(EntryPointTest, GivesTheExportedSymbol) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  ASSERT_OK(driver_.cuGetProcAddress("cuMemAlloc", &found, 12000, 0, &status));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SUCCESS, status);
  EXPECT_EQ(driver_.cuMemAlloc.address(), found);
}

TEST_F(EntryPointTest, PerThreadFlagGivesThePerThreadForm) {
  void* legacy = nullptr;
  void* own = nullptr;
  void* shared = nullptr;
  CUdriverProcAddressQueryResult status;
  const auto flag = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  ASSERT_OK(driver_.cuGetProcAddress("cuLaunchKernel", &legacy, 12000, 0, &status));
  ASSERT_OK(driver_.cuGetProcAddress("cuLaunchKernel", &own, 12000, flag, &status));
  EXPECT_NE(legacy, own);
  ASSERT_OK(driver_.cuGetProcAddress("cuMemAlloc", &shared, 12000, flag, &status));
  EXPECT_EQ(driver_.cuMemAlloc.address(), shared) << "a function without a stream has one form";
}

TEST_F(EntryPointTest, PerThreadFlagGivesNoLegacyFormInPlaceOfAPerThreadOne) {
  void* found = &found;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  const auto flag = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  ASSERT_OK(driver_.cuGetProcAddress("cuLaunchKernel", &found, 6050, flag, &status));
  EXPECT_EQ(nullptr, found) << "per-thread forms came with CUDA 7";
  EXPECT_EQ(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, status);
}

TEST_F(EntryPointTest, ANewerVersionThanTheDriversIsRefused) {
  int version = 0;
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  ASSERT_OK(driver_.cuDriverGetVersion(&version));
  if (version < 13000) GTEST_SKIP() << "drivers before CUDA 13 give their newest form";
  EXPECT_OK(driver_.cuGetProcAddress("cuMemAlloc", &found, version, 0, &status));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuGetProcAddress("cuMemAlloc", &found, 99990, 0, &status));
}

TEST_F(EntryPointTest, TheOlderFormAnswersWithAnErrorAndLeavesThePlaceAlone) {
  using Older = CUresult (*)(const char*, void**, int, cuuint64_t);
  void* older = nullptr;
  CUdriverProcAddressQueryResult status;
  ASSERT_OK(driver_.cuGetProcAddress("cuGetProcAddress", &older, 11030, 0, &status));
  void* found = &found;
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND,
              reinterpret_cast<Older>(older)("cuNoSuchFunction", &found, 12000, 0));
  EXPECT_EQ(&found, found);
}

TEST_F(EntryPointTest, FunctionsOfOtherPlatformsAreNotThere) {
  void* found = &found;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  ASSERT_OK(driver_.cuGetProcAddress("cuWGLGetDevice", &found, 12000, 0, &status));
  EXPECT_EQ(nullptr, found);
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
}

TEST_F(EntryPointTest, StatusSaysWhyThereIsNone) {
  void* found = &found;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  driver_.cuGetProcAddress("cuNoSuchFunction", &found, 12000, 0, &status);
  EXPECT_EQ(nullptr, found);
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, status);
  driver_.cuGetProcAddress("cuMemCreate", &found, 9000, 0, &status);
  EXPECT_EQ(nullptr, found);
  EXPECT_EQ(CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, status);
}

TEST_F(EntryPointTest, UnknownFlagsAreRefused) {
  void* found = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuGetProcAddress("cuMemAlloc", &found, 12000, 1u << 20, nullptr));
}

TEST_F(UndefinedEntryPointTest, NullIsRefused) {
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              driver_.cuGetProcAddress("cuMemAlloc", nullptr, 12000, 0, nullptr));
}

TEST_F(EntryPointTest, ErrorsHaveNamesAndTexts) {
  const char* text = nullptr;
  ASSERT_OK(driver_.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ("CUDA_ERROR_OUT_OF_MEMORY", text);
  ASSERT_OK(driver_.cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  EXPECT_STREQ("out of memory", text);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, driver_.cuGetErrorName(static_cast<CUresult>(998), &text));
  EXPECT_EQ(nullptr, text);
}

}  // namespace
}  // namespace vramstow::simulator
