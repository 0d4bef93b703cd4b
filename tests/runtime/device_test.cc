#include <cstring>
#include <thread>

#include "tests/runtime/runtime_test.h"

namespace vramstow {
namespace {

// The environment of these tests has two devices.
constexpr int kDevices = 2;

TEST(Device, CountsWhatTheSpecSays) {
  int count = 0;
  ASSERT_CUDA(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, kDevices);
}

TEST(Device, PropertiesAgreeWithAttributes) {
  for (int device = 0; device < kDevices; ++device) {
    cudaDeviceProp properties;
    ASSERT_CUDA(cudaGetDeviceProperties(&properties, device));
    int value = 0;
    ASSERT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device));
    EXPECT_EQ(properties.multiProcessorCount, value);
    ASSERT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, device));
    EXPECT_EQ(properties.major, value);
    ASSERT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    EXPECT_EQ(properties.sharedMemPerBlockOptin, static_cast<size_t>(value));
    EXPECT_EQ(properties.warpSize, 32);
    EXPECT_EQ(properties.maxThreadsPerBlock, 1024);
    EXPECT_GT(properties.totalGlobalMem, size_t{1} << 30);
    EXPECT_STRNE(properties.name, "");
  }
}

TEST(Device, UuidsDiffer) {
  cudaDeviceProp first;
  cudaDeviceProp second;
  ASSERT_CUDA(cudaGetDeviceProperties(&first, 0));
  ASSERT_CUDA(cudaGetDeviceProperties(&second, 1));
  EXPECT_NE(memcmp(&first.uuid, &second.uuid, sizeof(first.uuid)), 0);
}

TEST(Device, NumbersOutOfRangeAreInvalidDevices) {
  cudaDeviceProp properties;
  int value = 0;
  EXPECT_FAILS(cudaGetDeviceProperties(&properties, kDevices), cudaErrorInvalidDevice);
  EXPECT_FAILS(cudaGetDeviceProperties(&properties, -1), cudaErrorInvalidDevice);
  EXPECT_FAILS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99), cudaErrorInvalidDevice);
  EXPECT_FAILS(cudaSetDevice(99), cudaErrorInvalidDevice);
}

TEST(Device, IsChosenPerThread) {
  ASSERT_CUDA(cudaSetDevice(1));
  int here = -1;
  ASSERT_CUDA(cudaGetDevice(&here));
  EXPECT_EQ(here, 1);
  std::thread([] {
    int there = -1;
    EXPECT_CUDA(cudaGetDevice(&there));
    EXPECT_EQ(there, 0);
  }).join();
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST(Device, AllocatesOnTheChosenOne) {
  for (int device = 0; device < kDevices; ++device) {
    ASSERT_CUDA(cudaSetDevice(device));
    DeviceBuffer buffer(1024);
    cudaPointerAttributes attributes;
    ASSERT_CUDA(cudaPointerGetAttributes(&attributes, buffer.get()));
    EXPECT_EQ(attributes.device, device);
  }
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST(Device, BusIdLeadsBackToTheDevice) {
  char bus_id[32] = {};
  ASSERT_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), 1));
  int device = -1;
  ASSERT_CUDA(cudaDeviceGetByPCIBusId(&device, bus_id));
  EXPECT_EQ(device, 1);
}

TEST(Device, ChoosesTheDeviceThatFits) {
  cudaDeviceProp wanted = {};
  wanted.major = 1;
  int device = -1;
  ASSERT_CUDA(cudaChooseDevice(&device, &wanted));
  EXPECT_EQ(device, 0);
}

TEST(Device, HasStreamPriorities) {
  int least = 99;
  int greatest = 99;
  ASSERT_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_LE(greatest, least);
}

TEST(Device, PeerAccessIsEnabledOnce) {
  ASSERT_CUDA(cudaSetDevice(0));
  int can_access = 0;
  ASSERT_CUDA(cudaDeviceCanAccessPeer(&can_access, 0, 1));
  ASSERT_EQ(can_access, 1);
  ASSERT_CUDA(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_FAILS(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  ASSERT_CUDA(cudaDeviceDisablePeerAccess(1));
  EXPECT_FAILS(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
}

TEST(Device, ResetFreesItsMemoryAndItCanBeUsedAgain) {
  ASSERT_CUDA(cudaSetDevice(1));
  size_t before = 0;
  size_t total = 0;
  void* lost = nullptr;
  ASSERT_CUDA(cudaMemGetInfo(&before, &total));
  ASSERT_CUDA(cudaMalloc(&lost, size_t{256} << 20));
  ASSERT_CUDA(cudaDeviceReset());
  int device = -1;
  ASSERT_CUDA(cudaGetDevice(&device));
  EXPECT_EQ(device, 1);
  size_t after = 0;
  ASSERT_CUDA(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  {
    DeviceBuffer buffer(1024);
    cudaPointerAttributes attributes;
    ASSERT_CUDA(cudaPointerGetAttributes(&attributes, buffer.get()));
    EXPECT_EQ(attributes.device, 1);
  }
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST(Device, ResetByAnotherThreadIsSurvived) {
  ASSERT_CUDA(cudaSetDevice(1));
  { DeviceBuffer buffer(1024); }
  std::thread([] {
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_CUDA(cudaDeviceReset());
  }).join();
  { DeviceBuffer buffer(1024); }
  ASSERT_CUDA(cudaSetDevice(0));
}

TEST(Device, VersionsAreOfThe13Family) {
  int runtime = 0;
  int driver = 0;
  ASSERT_CUDA(cudaRuntimeGetVersion(&runtime));
  ASSERT_CUDA(cudaDriverGetVersion(&driver));
  EXPECT_EQ(runtime, 13020);
  EXPECT_GE(driver, 13000);
}

TEST(Device, FlagsAreKept) {
  ASSERT_CUDA(cudaSetDevice(0));
  ASSERT_CUDA(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
  unsigned flags = 0;
  ASSERT_CUDA(cudaGetDeviceFlags(&flags));
  EXPECT_EQ(flags & cudaDeviceScheduleMask, unsigned{cudaDeviceScheduleBlockingSync});
  ASSERT_CUDA(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
}

TEST(Device, LimitsAreKept) {
  size_t value = 0;
  ASSERT_CUDA(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, size_t{8} << 20));
  ASSERT_CUDA(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
  EXPECT_EQ(value, size_t{8} << 20);
}

}  // namespace
}  // namespace vramstow
