// Implements the reports for a monitor, which need no context and start nothing.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "simulator/driver/attributes.h"
#include "simulator/driver/state.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {
namespace {

// Returns the SPEC of this process, even if the machine has not been started. Returns null if the
// SPEC is wrong.
const Spec* ProcessSpec() {
  // The object is leaked, because it is used until the very end of the process.
  static const Spec* spec = []() -> const Spec* {
    auto parsed = std::make_unique<Spec>();
    std::string error;
    return ParseSpec(SpecOfEnvironment(), parsed.get(), &error) ? parsed.release() : nullptr;
  }();
  return spec;
}

// Returns the number that a GPU of the machine has in this process, or -1 if the process does not
// see the GPU.
int DeviceOfCard(const Machine& machine, int card) {
  const std::vector<int>& cards = machine.spec().cards;
  const auto found = std::find(cards.begin(), cards.end(), card);
  return found == cards.end() ? -1 : static_cast<int>(found - cards.begin());
}

// Reports the memory that this process uses, once its machine runs. A forked child has a copy of
// its parent's machine, perhaps in the middle of a change, and reports nothing about it.
void ReportUse(const Spec& spec, int card, vramstowSimulatorDeviceReport* report) {
  DriverGlobals& globals = Globals();
  if (globals.forked) return;
  if (globals.initialized) {
    const MutexLock lock(&globals.mutex);
    const State& state = globals.state();
    const int device = DeviceOfCard(*state.machine, card);
    if (device >= 0) {
      report->used_bytes = report->process_bytes = state.machine->memory.own(device);
      for (const void* handle : state.contexts.all()) {
        const auto* context = static_cast<const Context*>(handle);
        if (context->alive && context->device == device) report->has_context = 1;
      }
    }
  }
  if (Tenancy* tenancy = FindTenancy(spec)) {
    report->used_bytes = std::max(report->used_bytes, tenancy->Used(card));
  }
}

// Mixes the bits of a number, so that neighbouring numbers give unrelated ones (the finalizer of
// SplitMix64).
uint64_t Mix(uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

// Returns a number that processes have in common only if they share GPUs.
uint64_t IdentifyMachine(const Tenancy* tenancy) {
  struct stat status;
  if (tenancy != nullptr && stat(tenancy->path().c_str(), &status) == 0) {
    return Mix(Mix(status.st_dev) ^ status.st_ino);
  }
  static const uint64_t own = [] {
    uint64_t drawn = 0;
    return getrandom(&drawn, sizeof(drawn), 0) == sizeof(drawn) ? drawn
                                                                : static_cast<uint64_t>(getpid());
  }();
  return own;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

int vramstowSimulatorDeviceCount(void) {
  try {
    const Spec* spec = ProcessSpec();
    return spec != nullptr ? spec->count : -1;
  } catch (...) {
    return -1;
  }
}

int vramstowSimulatorReportDevice(int device, struct vramstowSimulatorDeviceReport* report,
                                  size_t size) {
  if (report == nullptr || device < 0 || device >= vramstowSimulatorDeviceCount()) return 1;
  try {
    const Spec& spec = *ProcessSpec();
    const Card& card = spec.card;
    vramstowSimulatorDeviceReport full = {};
    snprintf(full.name, sizeof(full.name), "%s", card.name);
    PciBusId(device, full.pci_bus_id, sizeof(full.pci_bus_id));
    const CUuuid uuid = CardUuid(spec, device);
    memcpy(full.uuid, uuid.bytes, sizeof(full.uuid));
    full.pci_device_id = static_cast<unsigned>(card.pci_device_id);
    full.major = card.major;
    full.minor = card.minor;
    full.multiprocessors = card.multiprocessors;
    full.clock_khz = card.clock_khz;
    full.memory_clock_khz = card.memory_clock_khz;
    full.memory_bus_bits = card.memory_bus_bits;
    full.has_ecc = card.ecc ? 1 : 0;
    full.has_nvlink = card.nvlink ? 1 : 0;
    full.total_bytes = spec.memory_bytes;
    ReportUse(spec, device, &full);
    memcpy(report, &full, std::min(size, sizeof(full)));
    return 0;
  } catch (...) {
    return 1;
  }
}

int vramstowSimulatorListProcesses(int device, struct vramstowSimulatorProcess* processes,
                                   int room) {
  if (device < 0 || device >= vramstowSimulatorDeviceCount()) return -1;
  try {
    std::vector<Tenant> tenants;
    Tenancy* tenancy = Globals().forked ? nullptr : FindTenancy(*ProcessSpec());
    if (tenancy != nullptr) tenants = tenancy->Tenants(device);
    if (tenants.empty()) {
      vramstowSimulatorDeviceReport report = {};
      ReportUse(*ProcessSpec(), device, &report);
      if (report.process_bytes != 0) tenants.push_back({getpid(), report.process_bytes});
    }
    for (int i = 0; i < room && i < static_cast<int>(tenants.size()); ++i) {
      processes[i] = {static_cast<uint64_t>(tenants[i].process), tenants[i].bytes};
    }
    return static_cast<int>(tenants.size());
  } catch (...) {
    return -1;
  }
}

uint64_t vramstowSimulatorIdentifyGpu(int device) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized || globals.forked) return 0;
  const MutexLock lock(&globals.mutex);
  const Spec& spec = globals.state().machine->spec();
  if (device < 0 || static_cast<size_t>(device) >= spec.cards.size()) return 0;
  const auto card = static_cast<uint64_t>(spec.cards[static_cast<size_t>(device)]);
  return Mix(IdentifyMachine(FindTenancy(spec)) ^ (card + 1)) | 1;
}

}  // extern "C"
