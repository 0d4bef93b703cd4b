#include "simulator/runtime/libraries/nvml/devices.h"

#include <atomic>
#include <cstring>

#include "simulator/runtime/libraries/common/driver_function.h"

namespace vramstow::simulator {
namespace {

constexpr int kDevicesMax = 64;

nvmlDevice_st devices[kDevicesMax];
std::atomic<int> initializations = 0;

struct DriverFunctions {
  decltype(&vramstowSimulatorDeviceCount) count = nullptr;
  decltype(&vramstowSimulatorReportDevice) report = nullptr;
  decltype(&vramstowSimulatorListProcesses) list = nullptr;

  DriverFunctions() {
    FindDriverFunction("vramstowSimulatorDeviceCount", &count);
    FindDriverFunction("vramstowSimulatorReportDevice", &report);
    FindDriverFunction("vramstowSimulatorListProcesses", &list);
  }
};

const DriverFunctions& Driver() {
  static const DriverFunctions* functions = new DriverFunctions;
  return *functions;
}

}  // namespace

bool FindDriver() {
  return Driver().count != nullptr && Driver().report != nullptr && Driver().count() >= 0;
}

void NoteInit() { ++initializations; }

bool NoteShutdown() {
  int before = initializations;
  while (before > 0) {
    if (initializations.compare_exchange_weak(before, before - 1)) {
      return true;
    }
  }
  return false;
}

bool IsInitialized() { return initializations > 0; }

int DeviceCount() { return FindDriver() ? Driver().count() : 0; }

nvmlDevice_t HandleOf(int index) { return &devices[index]; }

int IndexOf(nvmlDevice_t device) {
  const bool inside = device >= devices && device < devices + kDevicesMax;
  const auto index = inside ? static_cast<int>(device - devices) : -1;
  return index < DeviceCount() ? index : -1;
}

nvmlReturn_t Report(nvmlDevice_t device, DeviceReport* report) {
  if (!IsInitialized()) {
    return NVML_ERROR_UNINITIALIZED;
  }
  const int index = IndexOf(device);
  if (index < 0) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return Driver().report(index, report, sizeof(*report)) == 0 ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t ListProcesses(nvmlDevice_t device, std::vector<DeviceProcess>* processes) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  constexpr int kRoom = 256;  // the most processes that can share a GPU
  processes->resize(kRoom);
  const int count =
      Driver().list == nullptr ? -1 : Driver().list(IndexOf(device), processes->data(), kRoom);
  processes->resize(count < 0 ? 0 : count < kRoom ? count : kRoom);
  return count < 0 ? NVML_ERROR_UNKNOWN : NVML_SUCCESS;
}

nvmlReturn_t CopyText(const char* text, char* target, unsigned length) {
  if (target == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const size_t needed = strlen(text) + 1;
  if (length < needed) {
    return NVML_ERROR_INSUFFICIENT_SIZE;
  }
  memcpy(target, text, needed);
  return NVML_SUCCESS;
}

}  // namespace vramstow::simulator
