#include "tests/simulator/contract/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace vramstow::simulator {
namespace {

#define VRAMSTOW_TEXT_OF(name) #name
#define VRAMSTOW_TEXT(name) VRAMSTOW_TEXT_OF(name)

template <typename Function>
void Load(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  if (*function == nullptr) {
    fprintf(stderr, "the driver under test has no %s\n", name);
    exit(1);
  }
}

Driver LoadDriver() {
  const char* path = getenv("VRAMSTOW_TEST_DRIVER");
  if (path == nullptr) {
    path = VRAMSTOW_SIMULATED_DRIVER;
    setenv("VRAMSTOW_SIMULATE", kTestSpec, 0);
    // The processes of one test share the cards, those of two tests do not.
    setenv("VRAMSTOW_RUN_ID", ("contract-" + std::to_string(getpid())).c_str(), 0);
  }
  Driver driver;
  driver.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (driver.library == nullptr) {
    fprintf(stderr, "the driver under test cannot be loaded: %s\n", dlerror());
    exit(1);
  }
#define VRAMSTOW_TEST_FUNCTION(name) Load(driver.library, VRAMSTOW_TEXT(name), &driver.name);
  VRAMSTOW_TEST_FUNCTIONS(VRAMSTOW_TEST_FUNCTION)
#undef VRAMSTOW_TEST_FUNCTION
#define VRAMSTOW_TEST_FUNCTION(name) \
  driver.name = reinterpret_cast<decltype(driver.name)>(dlsym(driver.library, VRAMSTOW_TEXT(name)));
  VRAMSTOW_TEST_NEW_FUNCTIONS(VRAMSTOW_TEST_FUNCTION)
#undef VRAMSTOW_TEST_FUNCTION
  return driver;
}

}  // namespace

const Driver& GetDriver() {
  static const Driver driver = LoadDriver();
  return driver;
}

void ContractTest::SetUp() {
  ASSERT_OK(driver_.cuInit(0));
  ASSERT_OK(driver_.cuDeviceGet(&device_, 0));
  ASSERT_OK(driver_.cuDevicePrimaryCtxRetain(&context_, device_));
  ASSERT_OK(driver_.cuCtxSetCurrent(context_));
}

void ContractTest::TearDown() {
  driver_.cuCtxSynchronize();
  for (CUdeviceptr block : blocks_) EXPECT_OK(driver_.cuMemFree(block));
  for (CUstream stream : streams_) EXPECT_OK(driver_.cuStreamDestroy(stream));
  for (CUevent event : events_) EXPECT_OK(driver_.cuEventDestroy(event));
  EXPECT_OK(driver_.cuCtxSetCurrent(nullptr));
  EXPECT_OK(driver_.cuDevicePrimaryCtxRelease(device_));
}

CUdeviceptr ContractTest::Allocate(size_t bytes) {
  CUdeviceptr block = 0;
  EXPECT_OK(driver_.cuMemAlloc(&block, bytes));
  if (block != 0) blocks_.push_back(block);
  return block;
}

CUstream ContractTest::NewStream(unsigned flags) {
  CUstream stream = nullptr;
  EXPECT_OK(driver_.cuStreamCreate(&stream, flags));
  streams_.push_back(stream);
  return stream;
}

CUevent ContractTest::NewEvent(unsigned flags) {
  CUevent event = nullptr;
  EXPECT_OK(driver_.cuEventCreate(&event, flags));
  events_.push_back(event);
  return event;
}

std::vector<unsigned char> ContractTest::Read(CUdeviceptr from, size_t bytes) {
  std::vector<unsigned char> data(bytes, 0xee);
  EXPECT_OK(driver_.cuMemcpyDtoH(data.data(), from, bytes));
  return data;
}

size_t ContractTest::FreeBytes() {
  size_t free = 0;
  EXPECT_OK(driver_.cuMemGetInfo(&free, nullptr));
  return free;
}

}  // namespace vramstow::simulator
