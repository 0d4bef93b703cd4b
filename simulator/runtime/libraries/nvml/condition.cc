// Implements the condition of a device: temperature, power, clocks, errors. The values are
// plausible constants of an idle GPU, so that programs which show or log them run; nothing depends
// on them.
#include "simulator/runtime/libraries/nvml/devices.h"

namespace vramstow::simulator {
namespace {

constexpr int kTemperature = 34;
constexpr int kShutdownTemperature = 95;

// Returns the published power limit of the GPU's generation in milliwatts. An idle GPU uses a tenth
// of it.
unsigned PowerLimit(const DeviceReport& report) {
  if (report.major >= 9) {
    return 700000;
  }
  if (report.major == 8) {
    return report.minor == 0 ? 400000 : 350000;
  }
  return 300000;
}

// Returns one of NVML's clocks; the types are graphics, SM, memory and video.
nvmlReturn_t Clock(nvmlDevice_t device, unsigned type, unsigned* megahertz) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  constexpr unsigned kMemory = 2;
  constexpr unsigned kLast = 3;
  if (type > kLast) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return Store(megahertz, (type == kMemory ? report.memory_clock_khz : report.clock_khz) / 1000);
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor,
                                                    unsigned* degrees) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  return sensor == 0 ? Store(degrees, kTemperature) : NVML_ERROR_INVALID_ARGUMENT;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device,
                                                     nvmlTemperature_t* temperature) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS || temperature == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  if (temperature->version != (sizeof(nvmlTemperature_t) | 1u << 24)) {
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  }
  return Store(&temperature->temperature, kTemperature);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, unsigned type,
                                                             unsigned* degrees) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  constexpr unsigned kMaximum = 3;  // the thresholds are shutdown, slowdown, memory and device
  return type <= kMaximum ? Store(degrees, kShutdownTemperature - 3 * static_cast<int>(type))
                          : NVML_ERROR_NOT_SUPPORTED;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(milliwatts, PowerLimit(report) / 10) : result;
}

#define VRAMSTOW_POWER_LIMIT(name)                                                  \
  VRAMSTOW_NVML nvmlReturn_t name(nvmlDevice_t device, unsigned* milliwatts) {      \
    DeviceReport report;                                                            \
    const nvmlReturn_t result = Report(device, &report);                            \
    return result == NVML_SUCCESS ? Store(milliwatts, PowerLimit(report)) : result; \
  }
VRAMSTOW_POWER_LIMIT(nvmlDeviceGetPowerManagementLimit)
VRAMSTOW_POWER_LIMIT(nvmlDeviceGetPowerManagementDefaultLimit)
VRAMSTOW_POWER_LIMIT(nvmlDeviceGetEnforcedPowerLimit)

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                               unsigned long long* millijoules) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(millijoules, 0) : result;
}

// Returns the highest performance state.
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, unsigned* state) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(state, 0) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type,
                                                  unsigned* megahertz) {
  return Clock(device, type, megahertz);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type,
                                                     unsigned* megahertz) {
  return Clock(device, type, megahertz);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, unsigned type,
                                                          unsigned* megahertz) {
  return Clock(device, type, megahertz);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* bits) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(bits, report.memory_bus_bits) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned* current,
                                                unsigned* pending) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  const nvmlReturn_t stored = Store(current, report.has_ecc);
  return stored == NVML_SUCCESS ? Store(pending, report.has_ecc) : stored;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned /*type*/,
                                                       unsigned /*counter*/,
                                                       unsigned long long* errors) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  return report.has_ecc != 0 ? Store(errors, 0) : NVML_ERROR_NOT_SUPPORTED;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned* mode) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(mode, 1) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned* mode) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(mode, 0) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, unsigned* mode) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(mode, 0) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, unsigned* active) {
  return nvmlDeviceGetDisplayMode(device, active);
}

// Returns values that are selected by their numbers. The two values that monitors use most are
// supported; every other entry is marked as not supported, as NVML does.
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
                                                    nvmlFieldValue_t* values) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS || count <= 0 || values == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  constexpr unsigned kMemoryTemperature = 82;
  constexpr unsigned kPowerInstant = 186;
  constexpr unsigned kUnsigned = 1;
  for (int i = 0; i < count; ++i) {
    nvmlFieldValue_t& value = values[i];
    value.valueType = kUnsigned;
    value.nvmlReturn = NVML_SUCCESS;
    if (value.fieldId == kMemoryTemperature) {
      value.value.uiVal = kTemperature;
    } else if (value.fieldId == kPowerInstant) {
      value.value.uiVal = PowerLimit(report) / 10;
    } else {
      value.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    }
  }
  return NVML_SUCCESS;
}
