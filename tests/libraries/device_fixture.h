// A fixture for the tests of the stand-ins: a context on the simulated device, device memory, and
// an observer of the kernels that a stand-in queues.
#ifndef VRAMSTOW_TESTS_LIBRARIES_DEVICE_FIXTURE_H_
#define VRAMSTOW_TESTS_LIBRARIES_DEVICE_FIXTURE_H_

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "simulator/simulator_api.h"

namespace vramstow {

// Makes the primary context of device 0 current.
class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }

  static size_t UsedMemory() {
    size_t free = 0;
    size_t total = 0;
    cuMemGetInfo(&free, &total);
    return total - free;
  }
};

// Device memory that is freed at the end of its scope.
class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) { EXPECT_EQ(cuMemAlloc(&address_, bytes), CUDA_SUCCESS); }
  ~DeviceMemory() { cuMemFree(address_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  CUdeviceptr address() const { return address_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(address_);
  }

 private:
  CUdeviceptr address_ = 0;
};

// Expects that the memory was not computed: it reads as zeros, and reading it is counted.
inline void ExpectLeftOut(CUdeviceptr address, size_t bytes) {
  std::vector<char> values(bytes, 1);
  const uint64_t before = vramstowSimulatorCountUncomputedReads();
  EXPECT_EQ(cuMemcpyDtoH(values.data(), address, bytes), CUDA_SUCCESS);
  EXPECT_EQ(vramstowSimulatorCountUncomputedReads(), before + 1);
  EXPECT_EQ(values, std::vector<char>(bytes));
}

// Observes every launch of one kernel of a stand-in, at the time when it runs on the device.
class SeenKernel {
 public:
  explicit SeenKernel(const char* name) : name_(name) {
    const size_t size = 256;  // the one argument of all stand-ins' kernels
    EXPECT_EQ(
        vramstowSimulatorRegisterKernel(
            name, [](const vramstowSimulatorLaunch* launch) { See(launch); }, &size, 1, 1000, this),
        0);
  }
  ~SeenKernel() { vramstowSimulatorRegisterKernel(name_, nullptr, nullptr, 0, 0, nullptr); }
  SeenKernel(const SeenKernel&) = delete;
  SeenKernel& operator=(const SeenKernel&) = delete;

  struct Launch {
    uint64_t words[32];
    unsigned grid[3];
  };
  const std::vector<Launch>& launches() const { return launches_; }

 private:
  static void See(const vramstowSimulatorLaunch* launch) {
    Launch seen = {};
    memcpy(seen.words, launch->parameters[0], sizeof(seen.words));
    memcpy(seen.grid, launch->grid, sizeof(seen.grid));
    static_cast<SeenKernel*>(launch->user)->launches_.push_back(seen);
  }

  const char* name_;
  std::vector<Launch> launches_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TESTS_LIBRARIES_DEVICE_FIXTURE_H_
