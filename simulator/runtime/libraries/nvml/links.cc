// Implements the connections of devices: PCI Express, NVLink, peers, fabric.
//
// Modelled: a GPU with NVLink has as many NVLinks as its generation's data sheet says, all of them
// up and connected to one NVLink switch, so any two such GPUs reach each other. GPUs without NVLink
// are connected at the host bridge.
#include <cstdio>

#include "simulator/runtime/libraries/nvml/devices.h"

namespace vramstow::simulator {
namespace {

unsigned LinkCount(const DeviceReport& report) {
  if (report.has_nvlink == 0) {
    return 0;
  }
  return report.major >= 9 ? 18 : report.major == 8 ? 12 : 6;
}

nvmlReturn_t CheckLink(nvmlDevice_t device, unsigned link, DeviceReport* report) {
  const nvmlReturn_t result = Report(device, report);
  if (result != NVML_SUCCESS) {
    return result;
  }
  if (LinkCount(*report) == 0) {
    return NVML_ERROR_NOT_SUPPORTED;
  }
  return link < LinkCount(*report) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t RemotePciInfo(nvmlDevice_t device, unsigned link, nvmlPciInfo_t* pci) {
  DeviceReport report;
  const nvmlReturn_t result = CheckLink(device, link, &report);
  if (result != NVML_SUCCESS || pci == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  constexpr unsigned kSwitchBus = 0xc0;
  constexpr unsigned kSwitchId = 0x22a310de;
  *pci = {};
  pci->bus = kSwitchBus;
  pci->pciDeviceId = kSwitchId;
  snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "0000:%02X:00.0", kSwitchBus);
  snprintf(pci->busId, sizeof(pci->busId), "00000000:%02X:00.0", kSwitchBus);
  return NVML_SUCCESS;
}

unsigned PcieGeneration(const DeviceReport& report) {
  return report.major >= 9 ? 5 : report.major == 8 ? 4 : 3;
}

nvmlReturn_t Pair(nvmlDevice_t one, nvmlDevice_t other, bool* nvlink) {
  DeviceReport first;
  DeviceReport second;
  nvmlReturn_t result = Report(one, &first);
  if (result == NVML_SUCCESS) {
    result = Report(other, &second);
  }
  if (result == NVML_SUCCESS) {
    *nvlink = first.has_nvlink != 0 && second.has_nvlink != 0;
  }
  return result;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link,
                                                    unsigned* active) {
  DeviceReport report;
  const nvmlReturn_t result = CheckLink(device, link, &report);
  return result == NVML_SUCCESS ? Store(active, 1) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link,
                                                      unsigned* version) {
  DeviceReport report;
  const nvmlReturn_t result = CheckLink(device, link, &report);
  return result == NVML_SUCCESS ? Store(version, report.major >= 9   ? 4
                                                 : report.major == 8 ? 3
                                                                     : 2)
                                : result;
}

// The supported capabilities are peer access, and atomics among peers and to the host, but not SLI
// (kind 4).
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link,
                                                         unsigned capability, unsigned* answer) {
  DeviceReport report;
  const nvmlReturn_t result = CheckLink(device, link, &report);
  return result == NVML_SUCCESS ? Store(answer, capability <= 3 ? 1 : 0) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link,
                                                               unsigned* type) {
  DeviceReport report;
  const nvmlReturn_t result = CheckLink(device, link, &report);
  constexpr unsigned kSwitch = 2;
  return result == NVML_SUCCESS ? Store(type, kSwitch) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned link,
                                                            nvmlPciInfo_t* pci) {
  return RemotePciInfo(device, link, pci);
}
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                                               nvmlPciInfo_t* pci) {
  return RemotePciInfo(device, link, pci);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other,
                                                  unsigned index, unsigned* status) {
  bool nvlink = false;
  const nvmlReturn_t result = Pair(one, other, &nvlink);
  if (result != NVML_SUCCESS) {
    return result;
  }
  constexpr unsigned kNvlink = 2;
  constexpr unsigned kAtomics = 3;
  constexpr unsigned kOk = 0;
  constexpr unsigned kNotSupported = 5;
  // PCI Express, too, allows peers to read and write each other's memory. The other indexes need
  // NVLink.
  const bool needs_nvlink = index == kNvlink || index == kAtomics;
  return Store(status, needs_nvlink && !nvlink ? kNotSupported : kOk);
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other,
                                                               unsigned* level) {
  bool nvlink = false;
  const nvmlReturn_t result = Pair(one, other, &nvlink);
  constexpr unsigned kInternal = 0;
  constexpr unsigned kHostBridge = 30;
  return result == NVML_SUCCESS ? Store(level, one == other ? kInternal : kHostBridge) : result;
}

// Reports that there is no multi-node fabric.
VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device,
                                                      nvmlGpuFabricInfo_t* info) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  return result == NVML_SUCCESS ? Store(info, nvmlGpuFabricInfo_t{}) : result;
}

VRAMSTOW_NVML nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device,
                                                       nvmlGpuFabricInfoV_t* info) {
  DeviceReport report;
  const nvmlReturn_t result = Report(device, &report);
  if (result != NVML_SUCCESS || info == nullptr) {
    return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
  }
  *info = {info->version, {}, NVML_SUCCESS, 0, 0, 0};
  return NVML_SUCCESS;
}

#define VRAMSTOW_PCIE(name, value)                                         \
  VRAMSTOW_NVML nvmlReturn_t name(nvmlDevice_t device, unsigned* answer) { \
    DeviceReport report;                                                   \
    const nvmlReturn_t result = Report(device, &report);                   \
    return result == NVML_SUCCESS ? Store(answer, value) : result;         \
  }
VRAMSTOW_PCIE(nvmlDeviceGetCurrPcieLinkGeneration, PcieGeneration(report))
VRAMSTOW_PCIE(nvmlDeviceGetMaxPcieLinkGeneration, PcieGeneration(report))
VRAMSTOW_PCIE(nvmlDeviceGetGpuMaxPcieLinkGeneration, PcieGeneration(report))
VRAMSTOW_PCIE(nvmlDeviceGetCurrPcieLinkWidth, 16)
VRAMSTOW_PCIE(nvmlDeviceGetMaxPcieLinkWidth, 16)
// The speed in megatransfers per second and lane: 8,000 in the third generation of PCI Express,
// doubled in each later one.
VRAMSTOW_PCIE(nvmlDeviceGetPcieSpeed, 1000u << PcieGeneration(report))
