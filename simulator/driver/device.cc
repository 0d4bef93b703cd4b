// Implements cuInit and the queries of devices.
#include <cuda.h>
#include <stdio.h>
#include <string.h>

#include "simulator/driver/attributes.h"
#include "simulator/driver/call.h"
#include "simulator/driver/functions.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {

CUuuid CardUuid(const Spec& spec, int card) {
  Random random(0x76726d73746f77 + static_cast<uint64_t>(spec.card.pci_device_id) * 4096 + card);
  CUuuid uuid;
  for (size_t i = 0; i < sizeof(uuid.bytes); i += sizeof(uint64_t)) {
    const uint64_t part = random.Next();
    memcpy(uuid.bytes + i, &part, sizeof(part));
  }
  return uuid;
}

void PciBusId(int card, char* text, size_t size) {
  snprintf(text, size, "0000:%02X:00.0", card + 1);
}

namespace {

CUresult CopyText(const char* text, char* to, int size) {
  if (to == nullptr || size <= 0) return CUDA_ERROR_INVALID_VALUE;
  snprintf(to, static_cast<size_t>(size), "%s", text);
  return CUDA_SUCCESS;
}

CUresult GetUuid(const char* name, CUuuid* uuid, CUdevice device) {
  return Serve(name, Needs::kInit, [&](Call& call) {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    const Spec& spec = call.machine().spec();
    *uuid = CardUuid(spec, spec.cards[device]);
    return CUDA_SUCCESS;
  });
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

extern "C" {

CUresult cuInit(unsigned int flags) {
  DriverGlobals& globals = Globals();
  if (globals.forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (globals.shut_down) return CUDA_ERROR_DEINITIALIZED;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (globals.initialized) return CUDA_SUCCESS;
  try {
    const MutexLock lock(&globals.mutex);
    State& state = globals.state();
    if (globals.initialized) return CUDA_SUCCESS;
    // A wrong SPEC is reported only once, so the result of the first call is stored.
    if (state.init_result == CUDA_SUCCESS) state.init_result = StartMachine(&state);
    if (state.init_result == CUDA_SUCCESS) globals.initialized = true;
    return state.init_result;
  } catch (...) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult cuDeviceGetCount(int* count) {
  return Serve("cuDeviceGetCount", Needs::kInit, [&](Call& call) {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = call.machine().devices();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return Serve("cuDeviceGet", Needs::kInit, [&](Call& call) {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  return Serve("cuDeviceGetName", Needs::kInit, [&](Call& call) {
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    return CopyText(call.machine().card().name, name, size);
  });
}

#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return GetUuid("cuDeviceGetUuid", uuid, device);
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return GetUuid("cuDeviceGetUuid", uuid, device);
}

CUresult cuDeviceGetLuid(char* luid, unsigned int* node_mask, CUdevice device) {
  (void)luid, (void)node_mask, (void)device;
  const int refusal = RefusalOfAllCalls();
  // This function exists only on Windows.
  return refusal != 0 ? static_cast<CUresult>(refusal) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return Serve("cuDeviceTotalMem", Needs::kInit, [&](Call& call) {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    *bytes = call.machine().memory.total(device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return Serve("cuDeviceGetAttribute", Needs::kInit, [&](Call& call) {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    return DeviceAttribute(call.machine().spec(), device, attribute, value)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return Serve("cuDeviceComputeCapability", Needs::kInit, [&](Call& call) {
    if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    *major = call.machine().card().major;
    *minor = call.machine().card().minor;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  return Serve("cuDeviceGetProperties", Needs::kInit, [&](Call& call) {
    if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    const Spec& spec = call.machine().spec();
    const auto get = [&](int attribute) {
      int value = 0;
      DeviceAttribute(spec, device, attribute, &value);
      return value;
    };
    properties->maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    for (int i = 0; i < 3; ++i) {
      properties->maxThreadsDim[i] = get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + i);
      properties->maxGridSize[i] = get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + i);
    }
    properties->sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    properties->totalConstantMemory = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
    properties->SIMDWidth = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
    properties->memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
    properties->regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    properties->clockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    properties->textureAlign = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
  return Serve("cuDeviceGetPCIBusId", Needs::kInit, [&](Call& call) {
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    char id[32];
    PciBusId(call.machine().spec().cards[device], id, sizeof(id));
    return CopyText(id, text, size);
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  return Serve("cuDeviceGetByPCIBusId", Needs::kInit, [&](Call& call) {
    if (device == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (int candidate = 0; candidate < call.machine().devices(); ++candidate) {
      char id[32];
      PciBusId(call.machine().spec().cards[candidate], id, sizeof(id));
      // The domain of the bus id may be left out.
      if (strcasecmp(id, text) != 0 && strcasecmp(id + 5, text) != 0) continue;
      *device = candidate;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format format, unsigned channels,
                                            CUdevice device) {
  (void)format;
  return Serve("cuDeviceGetTexture1DLinearMaxWidth", Needs::kInit, [&](Call& call) {
    if (width == nullptr || channels == 0) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    *width = 268435456 / channels;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice device) {
  (void)type;
  return Serve("cuDeviceGetExecAffinitySupport", Needs::kInit, [&](Call& call) {
    if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!IsDevice(call, device)) return CUDA_ERROR_INVALID_DEVICE;
    *supported = 0;
    return CUDA_SUCCESS;
  });
}

int vramstowSimulatorCheck(const char* spec, char* text, size_t size) {
  try {
    std::string answer;
    int result = 0;
    Spec parsed;
    if (spec != nullptr && strcmp(spec, "help") == 0) {
      answer = SpecHelp();
    } else if (spec != nullptr && ParseSpec(spec, &parsed, &answer)) {
      answer = DescribeSpec(parsed);
    } else {
      result = 1;
      if (spec == nullptr) answer = "simulated card: no SPEC was given.";
    }
    if (text != nullptr && size > 0) snprintf(text, size, "%s", answer.c_str());
    return result;
  } catch (...) {
    return 1;
  }
}

int vramstowSimulatorRanks(const char* spec, int index, vramstowSimulatorRank* rank, size_t size) {
  try {
    Spec parsed;
    std::string error;
    if (!ParseSpec(spec == nullptr ? SpecOfEnvironment() : spec, &parsed, &error)) return -1;
    const World& world = parsed.world;
    const int count = static_cast<int>(world.running.size());
    if (rank == nullptr || index < 0 || index >= count) return count;
    const int number = world.running[static_cast<size_t>(index)];
    const int each = world.ranks_per_node();
    const vramstowSimulatorRank full = {number,      world.ranks,   number / each,
                                        world.nodes, number % each, each};
    memcpy(rank, &full, std::min(size, sizeof full));
    return count;
  } catch (...) {
    return -1;
  }
}

uint64_t vramstowSimulatorGroup(void) {
  constexpr uint64_t kPrime = 0x100000001b3;  // of FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  DriverGlobals& globals = Globals();
  if (globals.forked) return 0;
  const MutexLock lock(&globals.mutex);
  const State& state = globals.state();
  if (state.machine == nullptr) return 0;
  const Spec& spec = state.machine->spec();
  for (const char letter : spec.share) hash = (hash ^ static_cast<unsigned char>(letter)) * kPrime;
  return (hash ^ spec.memory_bytes) * kPrime;
}

const char* vramstowSimulatorDescription(void) {
  static char text[256];
  DriverGlobals& globals = Globals();
  if (globals.forked) return text;
  const MutexLock lock(&globals.mutex);
  const State& state = globals.state();
  if (state.machine == nullptr) {
    snprintf(text, sizeof(text), "a simulated card, not initialized");
  } else {
    snprintf(text, sizeof(text), "%s", DescribeSpec(state.machine->spec()).c_str());
  }
  return text;
}

}  // extern "C"
