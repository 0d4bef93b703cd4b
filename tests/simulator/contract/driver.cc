#include "tests/simulator/contract/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace vramstow::simulator {
namespace {

#define VRAMSTOW_TEXT_OF(name) #name
#define VRAMSTOW_TEXT(name) VRAMSTOW_TEXT_OF(name)

// The thread on which the tests run. Only on this thread can an exception end a test.
const std::thread::id g_test_thread = std::this_thread::get_id();

Driver LoadDriver() {
  const char* path = getenv("VRAMSTOW_TEST_DRIVER");
  if (path == nullptr) {
    path = VRAMSTOW_SIMULATED_DRIVER;
    setenv("VRAMSTOW_SIMULATE", kTestSpec, 0);
    // The processes of one test share the simulated GPUs. Processes of different tests do not share
    // them.
    setenv("VRAMSTOW_RUN_ID", ("contract-" + std::to_string(getpid())).c_str(), 0);
  }
  Driver driver;
  driver.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (driver.library == nullptr) {
    fprintf(stderr, "the driver under test cannot be loaded: %s\n", dlerror());
    exit(1);
  }
#define VRAMSTOW_TEST_FUNCTION(name) driver.name.Find(driver.library, VRAMSTOW_TEXT(name));
  VRAMSTOW_TEST_FUNCTIONS(VRAMSTOW_TEST_FUNCTION)
#undef VRAMSTOW_TEST_FUNCTION
  return driver;
}

// Retains the primary context from one test to the next if VRAMSTOW_TEST_KEEPS_CONTEXT requests it.
void KeepContext(const Driver& driver, CUdevice device) {
  static const bool keeps = getenv("VRAMSTOW_TEST_KEEPS_CONTEXT") != nullptr;
  static bool kept = false;
  if (!keeps || kept) return;
  CUcontext context = nullptr;
  kept = driver.cuDevicePrimaryCtxRetain(&context, device) == CUDA_SUCCESS;
}

}  // namespace

void SkipForMissing(const char* name) {
  if (::testing::UnitTest::GetInstance()->current_test_info() == nullptr ||
      std::this_thread::get_id() != g_test_thread) {
    fprintf(stderr, "the driver has no %s\n", name);
    _exit(1);
  }
  const std::string why = std::string("the driver has no ") + name;
  [&] { GTEST_SKIP() << why; }();
  // GoogleTest ends a test at this exception without recording another failure.
  throw ::testing::AssertionException(
      ::testing::TestPartResult(::testing::TestPartResult::kSkip, nullptr, -1, why.c_str()));
}

template <typename Function>
void DriverFunction<Function>::Find(void* library, const char* name) {
  found_ = reinterpret_cast<Function>(dlsym(library, name));
  name_ = name;
}

const Driver& GetDriver() {
  static const Driver driver = LoadDriver();
  return driver;
}

struct HeldStream::Gate {
  static constexpr std::chrono::seconds kMax{60};  // far longer than any test needs

  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  bool left = false;   // the work has ended
  bool tired = false;  // the time limit, not LetGo, ended the work
};

HeldStream::HeldStream(CUstream stream) : gate_(std::make_shared<Gate>()) {
  // The host function needs a reference of its own, because it may begin after this object is
  // destroyed.
  auto* mine = new std::shared_ptr<Gate>(gate_);
  const CUresult result = GetDriver().cuLaunchHostFunc(
      stream,
      [](void* user) {
        const std::unique_ptr<std::shared_ptr<Gate>> held(
            static_cast<std::shared_ptr<Gate>*>(user));
        Gate& gate = **held;
        std::unique_lock lock(gate.mutex);
        gate.tired = !gate.changed.wait_for(lock, Gate::kMax, [&] { return gate.open; });
        gate.left = true;
        gate.changed.notify_all();
      },
      mine);
  EXPECT_OK(result);
  if (result == CUDA_SUCCESS) return;
  delete mine;
  gate_->left = true;
}

bool HeldStream::LetGo() {
  std::unique_lock lock(gate_->mutex);
  gate_->open = true;
  gate_->changed.notify_all();
  gate_->changed.wait_for(lock, 2 * Gate::kMax, [&] { return gate_->left; });
  return !gate_->tired;
}

void ContractTest::SetUp() {
  ASSERT_OK(driver_.cuInit(0));
  ASSERT_OK(driver_.cuDeviceGet(&device_, 0));
  KeepContext(driver_, device_);
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
