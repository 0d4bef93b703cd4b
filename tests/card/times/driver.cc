#include "tests/card/times/driver.h"

#include <dlfcn.h>

#include <chrono>

#include "simulator/simulator_api.h"

#define VRAMSTOW_TEXT_OF(name) #name
#define VRAMSTOW_TEXT(name) VRAMSTOW_TEXT_OF(name)

namespace vramstow::card {

bool Driver::Open(const char* library) {
  library_ = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    error_ = std::string("The driver cannot be opened: ") + dlerror() + ".";
    return false;
  }
#define VRAMSTOW_TIMED_FUNCTION(name)                                            \
  name = reinterpret_cast<decltype(name)>(dlsym(library_, VRAMSTOW_TEXT(name))); \
  if (name == nullptr && Good()) error_ = "The driver has no " VRAMSTOW_TEXT(name) ".";
  VRAMSTOW_TIMED_FUNCTIONS(VRAMSTOW_TIMED_FUNCTION)
#undef VRAMSTOW_TIMED_FUNCTION
  if (!Good() || !Good(this->cuInit(0), "cuInit")) return false;
  FindClock();
  return true;
}

void Driver::FindClock() {
  const auto read = reinterpret_cast<decltype(&vramstowSimulatorReadModelClock)>(
      dlsym(library_, "vramstowSimulatorReadModelClock"));
  if (read == nullptr) return;
  vramstowSimulatorModelClock clock = {};
  source_ = TimeSource::kMachine;
  if (read(&clock, sizeof clock) != 0) return;
  source_ = TimeSource::kModel;
  simulated_time_ =
      reinterpret_cast<decltype(&vramstowSimulatorTime)>(dlsym(library_, "vramstowSimulatorTime"));
}

bool Driver::Good(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS && Good()) {
    error_ = std::string(call) + " failed with " + std::to_string(result) + ".";
  }
  return result == CUDA_SUCCESS;
}

uint64_t Driver::Now() const {
  if (simulated_time_ != nullptr) return simulated_time_();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

}  // namespace vramstow::card
