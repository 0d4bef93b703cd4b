// Implements the number of devices and their identities.
#include <cstdio>
#include <cstring>

#include "simulator/runtime/libraries/nvml/devices.h"

namespace vramstow::simulator {
namespace {

constexpr unsigned kVendor = 0x10de;

void UuidText(const DeviceReport& report, char (&text)[48]) {
  const unsigned char* u = report.uuid;
  snprintf(text, sizeof(text),
           "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
           u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
           u[15]);
}

struct PciPlace {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
};

// Parses "0000:01:00.0", with a domain of four or eight digits, or without one.
bool ParsePlace(const char* text, PciPlace* place) {
  if (sscanf(text, "%x:%x:%x.", &place->domain, &place->bus, &place->device) == 3) {
    return true;
  }
  place->domain = 0;
  return sscanf(text, "%x:%x.", &place->bus, &place->device) == 2;
}

// Finds the device for which `matches(report)` is true.
template <typename Matches>
nvmlReturn_t FindDevice(nvmlDevice_t* device, const Matches& matches) {
  if (!IsInitialized()) {
    return NVML_ERROR_UNINITIALIZED;
  }
  if (device == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  for (int i = 0; i < DeviceCount(); ++i) {
    DeviceReport report;
    if (Report(HandleOf(i), &report) == NVML_SUCCESS && matches(report)) {
      *device = HandleOf(i);
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t ByIndex(unsigned index, nvmlDevice_t* device) {
  if (!IsInitialized()) {
    return NVML_ERROR_UNINITIALIZED;
  }
  if (device == nullptr || index >= static_cast<unsigned>(DeviceCount())) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  *device = HandleOf(static_cast<int>(index));
  return NVML_SUCCESS;
}

nvmlReturn_t ByPlace(const char* text, nvmlDevice_t* device) {
  PciPlace wanted;
  if (text == nullptr || !ParsePlace(text, &wanted)) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return FindDevice(device, [&](const DeviceReport& report) {
    PciPlace place;
    return ParsePlace(report.pci_bus_id, &place) && place.domain == wanted.domain &&
           place.bus == wanted.bus && place.device == wanted.device;
  });
}

nvmlReturn_t Count(unsigned* count) {
  return IsInitialized() ? Store(count, DeviceCount()) : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t PciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS || pci == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  PciPlace place;
  ParsePlace(report.pci_bus_id, &place);
  *pci = {};
  pci->domain = place.domain;
  pci->bus = place.bus;
  pci->device = place.device;
  pci->pciDeviceId = report.pci_device_id << 16 | kVendor;
  snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%s", report.pci_bus_id);
  snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", place.domain, place.bus,
           place.device);
  return NVML_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetCount(unsigned* count) { return Count(count); }
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) { return Count(count); }

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  return ByIndex(index, device);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return ByIndex(index, device);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* id, nvmlDevice_t* device) {
  return ByPlace(id, device);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* device) {
  return ByPlace(id, device);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (uuid == nullptr) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  return FindDevice(device, [&](const DeviceReport& report) {
    char text[48];
    UuidText(report, text);
    return strcmp(text, uuid) == 0;
  });
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(index, IndexOf(device)) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor) {
  return nvmlDeviceGetIndex(device, minor);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? CopyText(report.name, name, length) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  char text[48];
  UuidText(report, text);
  return CopyText(text, uuid, length);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return PciInfo(device, pci);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return PciInfo(device, pci);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return PciInfo(device, pci);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
  nvmlPciInfo_t info;
  const nvmlReturn_t result = PciInfo(device, &info);
  if (result != NVML_SUCCESS || pci == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  constexpr unsigned kDisplayController = 3;
  constexpr unsigned kThreeD = 2;
  const unsigned version = pci->version;
  *pci = {version,
          info.domain,
          info.bus,
          info.device,
          info.pciDeviceId,
          info.pciSubSystemId,
          kDisplayController,
          kThreeD,
          {}};
  memcpy(pci->busId, info.busId, sizeof(pci->busId));
  return NVML_SUCCESS;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major,
                                                              int* minor) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS || major == nullptr || minor == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  *major = report.major;
  *minor = report.minor;
  return NVML_SUCCESS;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned* architecture) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  // NVML's numbers are Volta 5, Turing 6, Ampere 7, Ada 8, Hopper 9, Blackwell 10.
  unsigned number = 10;
  if (report.major == 7) {
    number = report.minor < 5 ? 5 : 6;
  } else if (report.major == 8) {
    number = report.minor == 9 ? 8 : 7;
  } else if (report.major == 9) {
    number = 9;
  }
  return Store(architecture, number);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, unsigned* brand) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  constexpr unsigned kNvidia = 14;
  constexpr unsigned kGeForce = 5;
  return result == NVML_SUCCESS
             ? Store(brand, strstr(report.name, "GeForce") != nullptr ? kGeForce : kNvidia)
             : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned* cores) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  const int per_processor =
      report.major == 7 || (report.major == 8 && report.minor == 0) ? 64 : 128;
  return result == NVML_SUCCESS ? Store(cores, report.multiprocessors * per_processor) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is_mig) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(is_mig, 0) : result;
}
