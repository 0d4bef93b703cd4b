#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simulator/runtime/libraries/nvml/api.h"
#include "tests/libraries/device_fixture.h"

namespace vramstow {
namespace {

// Looks up a function of NVML by its name, as NVML's clients do, and calls it. The argument types
// follow from the call.
template <typename... Arguments>
nvmlReturn_t Nvml(const char* name, Arguments... arguments) {
  static void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  auto function = reinterpret_cast<nvmlReturn_t (*)(Arguments...)>(dlsym(library, name));
  return function != nullptr ? function(arguments...) : NVML_ERROR_FUNCTION_NOT_FOUND;
}

class NvmlTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_EQ(Nvml("nvmlInit_v2"), NVML_SUCCESS);
    ASSERT_EQ(Nvml("nvmlDeviceGetHandleByIndex_v2", 0u, &device_), NVML_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(Nvml("nvmlShutdown"), NVML_SUCCESS); }

  nvmlDevice_t device_ = nullptr;
};

TEST_F(NvmlTest, TellsTheDriversStoryOfMemory) {
  const DeviceMemory block(size_t{1} << 30);
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
  nvmlMemory_t memory = {};
  ASSERT_EQ(Nvml("nvmlDeviceGetMemoryInfo", device_, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, total);
  EXPECT_EQ(memory.free, free);
  EXPECT_EQ(memory.used, total - free);
  EXPECT_GE(memory.used, size_t{1} << 30);
  nvmlMemory_v2_t second = {};
  EXPECT_EQ(Nvml("nvmlDeviceGetMemoryInfo_v2", device_, &second),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  second.version = sizeof(second) | 2u << 24;
  ASSERT_EQ(Nvml("nvmlDeviceGetMemoryInfo_v2", device_, &second), NVML_SUCCESS);
  EXPECT_EQ(second.used, memory.used);
}

TEST_F(NvmlTest, IdentifiesDevicesAsTheDriverDoes) {
  unsigned count = 0;
  ASSERT_EQ(Nvml("nvmlDeviceGetCount_v2", &count), NVML_SUCCESS);
  int devices = 0;
  ASSERT_EQ(cuDeviceGetCount(&devices), CUDA_SUCCESS);
  EXPECT_EQ(count, static_cast<unsigned>(devices));
  char name[96] = {};
  char driver_name[96] = {};
  ASSERT_EQ(Nvml("nvmlDeviceGetName", device_, &name[0], 96u), NVML_SUCCESS);
  ASSERT_EQ(cuDeviceGetName(driver_name, 96, 0), CUDA_SUCCESS);
  EXPECT_STREQ(name, driver_name);
  EXPECT_EQ(Nvml("nvmlDeviceGetName", device_, &name[0], 3u), NVML_ERROR_INSUFFICIENT_SIZE);
  nvmlPciInfo_t pci = {};
  ASSERT_EQ(Nvml("nvmlDeviceGetPciInfo_v3", device_, &pci), NVML_SUCCESS);
  char bus[32] = {};
  ASSERT_EQ(cuDeviceGetPCIBusId(bus, sizeof(bus), 1), CUDA_SUCCESS);
  nvmlDevice_t second = nullptr;
  ASSERT_EQ(Nvml("nvmlDeviceGetHandleByPciBusId_v2", static_cast<const char*>(bus), &second),
            NVML_SUCCESS);
  unsigned index = 0;
  ASSERT_EQ(Nvml("nvmlDeviceGetIndex", second, &index), NVML_SUCCESS);
  EXPECT_EQ(index, 1u);
  char uuid[96] = {};
  ASSERT_EQ(Nvml("nvmlDeviceGetUUID", second, &uuid[0], 96u), NVML_SUCCESS);
  nvmlDevice_t again = nullptr;
  ASSERT_EQ(Nvml("nvmlDeviceGetHandleByUUID", static_cast<const char*>(uuid), &again),
            NVML_SUCCESS);
  EXPECT_EQ(again, second);
  EXPECT_EQ(Nvml("nvmlDeviceGetHandleByUUID", "GPU-none", &again), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(Nvml("nvmlDeviceGetHandleByIndex_v2", 99u, &again), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, KnowsThisProcess) {
  unsigned count = 0;
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", device_, &count,
                 static_cast<nvmlProcessInfo_t*>(nullptr)),
            NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 1u);
  nvmlProcessInfo_t process = {};
  ASSERT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", device_, &count, &process),
            NVML_SUCCESS);
  EXPECT_EQ(process.pid, static_cast<unsigned>(getpid()));
  EXPECT_EQ(process.usedGpuMemory, UsedMemory());
  nvmlProcessInfo_v1_t first_form = {};
  ASSERT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses", device_, &count, &first_form),
            NVML_SUCCESS);
  EXPECT_EQ(first_form.usedGpuMemory, process.usedGpuMemory);
  count = 0;
  nvmlDevice_t other = nullptr;
  ASSERT_EQ(Nvml("nvmlDeviceGetHandleByIndex_v2", 1u, &other), NVML_SUCCESS);
  EXPECT_EQ(Nvml("nvmlDeviceGetComputeRunningProcesses_v3", other, &count, &process), NVML_SUCCESS);
  EXPECT_EQ(count, 0u) << "there is no context on the second device";
}

TEST_F(NvmlTest, CardsOfAnNvlinkMachineReachEachOther) {
  nvmlDevice_t other = nullptr;
  ASSERT_EQ(Nvml("nvmlDeviceGetHandleByIndex_v2", 1u, &other), NVML_SUCCESS);
  unsigned status = 99;
  ASSERT_EQ(Nvml("nvmlDeviceGetP2PStatus", device_, other, 2u, &status), NVML_SUCCESS);
  EXPECT_EQ(status, 0u);
  unsigned active = 0;
  ASSERT_EQ(Nvml("nvmlDeviceGetNvLinkState", device_, 17u, &active), NVML_SUCCESS);
  EXPECT_EQ(active, 1u);
  EXPECT_EQ(Nvml("nvmlDeviceGetNvLinkState", device_, 18u, &active), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, TellsThatThereIsNoConfidentialComputing) {
  nvmlConfComputeSystemState_t state = {1, 1, 1};
  ASSERT_EQ(Nvml("nvmlSystemGetConfComputeState", &state), NVML_SUCCESS);
  EXPECT_EQ(state.ccFeature, 0u);
  nvmlSystemConfComputeSettings_t settings = {0, 1, 1, 1, 1};
  EXPECT_EQ(Nvml("nvmlSystemGetConfComputeSettings", &settings),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  settings.version = 0x1000014;  // the number in NVIDIA's bindings for Python
  ASSERT_EQ(Nvml("nvmlSystemGetConfComputeSettings", &settings), NVML_SUCCESS);
  EXPECT_EQ(settings.version, 0x1000014u);
  EXPECT_EQ(settings.environment, 0u);
  EXPECT_EQ(settings.ccFeature, 0u);
  EXPECT_EQ(settings.devToolsMode, 0u);
  EXPECT_EQ(settings.multiGpuMode, 0u);
}

TEST_F(NvmlTest, AnswersInAForkedChild) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    unsigned count = 0;
    nvmlMemory_t memory = {};
    const bool right = Nvml("nvmlDeviceGetCount_v2", &count) == NVML_SUCCESS && count == 2 &&
                       Nvml("nvmlDeviceGetMemoryInfo", device_, &memory) == NVML_SUCCESS;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Nvml, IsNothingBeforeItsInit) {
  unsigned count = 0;
  EXPECT_EQ(Nvml("nvmlDeviceGetCount_v2", &count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(Nvml("nvmlShutdown"), NVML_ERROR_UNINITIALIZED);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Nvml("nvmlUnitGetCount", &count), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("nvmlUnitGetCount"), std::string::npos);
}

// A program that queries the device through NVML must not initialise the driver by that.
TEST(Nvml, AsksWithoutInitialisingCuda) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    execl("/proc/self/exe", "nvml_test", "--gtest_filter=NvmlAlone.*",
          "--gtest_also_run_disabled_tests", nullptr);
    _exit(127);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(NvmlAlone, DISABLED_Child) {
  ASSERT_EQ(Nvml("nvmlInit_v2"), NVML_SUCCESS);
  nvmlDevice_t device = nullptr;
  ASSERT_EQ(Nvml("nvmlDeviceGetHandleByIndex_v2", 0u, &device), NVML_SUCCESS);
  nvmlMemory_t memory = {};
  ASSERT_EQ(Nvml("nvmlDeviceGetMemoryInfo", device, &memory), NVML_SUCCESS);
  EXPECT_GT(memory.total, 0u);
  EXPECT_EQ(memory.used, 0u);
  int count = 0;
  EXPECT_EQ(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
}

}  // namespace
}  // namespace vramstow
