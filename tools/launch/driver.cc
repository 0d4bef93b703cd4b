#include "tools/launch/driver.h"

#include <dlfcn.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "simulator/simulator_api.h"

namespace vramstow {
namespace {

constexpr size_t kMaxText = 64 * 1024;

}  // namespace

absl::Status CheckDriver() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  // The library is not closed, because a driver need not support that.
  if (driver != nullptr && dlsym(driver, "cuInit") != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "there is no CUDA driver on this machine (libcuda.so.1): use a machine with an NVIDIA "
      "driver, or a simulated GPU with --simulate=h200.");
}

absl::StatusOr<void*> SimulatorFunction(const std::string& simulator_directory, const char* name) {
  const std::string path = absl::StrCat(simulator_directory, "/libcuda.so.1");
  void* driver = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) {
    const char* reason = dlerror();
    return absl::NotFoundError(
        absl::StrCat("cannot open the simulated driver ", path, " (",
                     reason == nullptr ? "no reason given" : reason,
                     "): build or install vramstow again, with the simulator."));
  }
  void* function = dlsym(driver, name);
  if (function != nullptr) return function;
  return absl::FailedPreconditionError(
      absl::StrCat(path,
                   " is not vramstow's simulated driver, or it belongs to another version: build "
                   "or install vramstow again."));
}

absl::StatusOr<std::string> CheckSimulator(const std::string& simulator_directory,
                                           const std::string& spec) {
  const auto function = SimulatorFunction(simulator_directory, "vramstowSimulatorCheck");
  if (!function.ok()) return function.status();
  const auto check = reinterpret_cast<decltype(&vramstowSimulatorCheck)>(*function);
  std::vector<char> text(kMaxText, '\0');
  const int result = check(spec.c_str(), text.data(), text.size());
  text.back() = '\0';
  std::string said = text.data();
  while (!said.empty() && said.back() == '\n') said.pop_back();
  if (result == 0) return said;
  return absl::InvalidArgumentError(said);
}

}  // namespace vramstow
