#include "interpose/core/framework/card_processes.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/host_mapping.h"
#include "interpose/core/framework/framework.h"
#include "interpose/core/record/trace.h"
#include "interpose/core/runtime/driver.h"
#include "interpose/core/runtime/this_thread.h"

namespace vramstow {
namespace {

constexpr unsigned kMaxProcesses = 64;
constexpr unsigned kMaxReported = 4;

// Types of NVML's interface, as nvmlDeviceGetComputeRunningProcesses_v3 uses them. NVML returns 0
// for success.
using Device = void*;
struct Listed {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};
using Initialise = int (*)();
using FindByUuid = int (*)(const char* uuid, Device* device);
using ListProcesses = int (*)(Device device, unsigned* count, Listed* processes);

template <typename Function>
Function Find(void* library, const char* name) {
  return reinterpret_cast<Function>(Shim().find_symbol(library, name));
}

// Lists the processes that use a device. Returns their number, or 0 if they cannot be found.
unsigned List(int device, Listed (&processes)[kMaxProcesses]) {
  void* const library = Shim().open_library("libnvidia-ml.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return 0;
  const auto initialise = Find<Initialise>(library, "nvmlInit_v2");
  const auto find = Find<FindByUuid>(library, "nvmlDeviceGetHandleByUUID");
  const auto list = Find<ListProcesses>(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  const Driver& driver = framework_context.driver;
  CUuuid uuid;
  if (initialise == nullptr || find == nullptr || list == nullptr ||
      driver.cuDeviceGetUuid_v2() == nullptr ||
      driver.cuDeviceGetUuid_v2()(&uuid, device) != CUDA_SUCCESS) {
    return 0;
  }
  char name[kDeviceUuidBytes];
  WriteDeviceUuid(uuid.bytes, name);
  Device card = nullptr;
  unsigned count = kMaxProcesses;
  // NVML counts how often it was initialised. This initialisation is never undone, so the library
  // is not shut down while PyTorch uses it.
  if (initialise() != 0 || find(name, &card) != 0 || list(card, &count, processes) != 0) return 0;
  return std::min(count, kMaxProcesses);
}

}  // namespace

void DescribeOtherProcesses(int device) {
  Listed processes[kMaxProcesses] = {};
  Listed* const end = processes + List(device, processes);
  const auto own = static_cast<unsigned>(getpid());
  const auto is_own = [own](const Listed& one) { return one.pid == own; };
  if (std::none_of(processes, end, is_own)) return;
  constexpr unsigned long long kUnknown = ~0ull;
  Listed* const others = std::remove_if(
      processes, end, [&](const Listed& one) { return is_own(one) || one.bytes == kUnknown; });
  std::sort(processes, others, [](const Listed& a, const Listed& b) { return a.bytes > b.bytes; });
  char text[kMaxReported * 32] = "";
  size_t length = 0;
  for (const Listed* one = processes; one < std::min(others, processes + kMaxReported); ++one) {
    length += static_cast<size_t>(std::snprintf(text + length, sizeof text - length, "%s%u:%llu",
                                                length == 0 ? "" : " ", one->pid, one->bytes));
  }
  char key[48];
  std::snprintf(key, sizeof key, "device.%d.other_processes", device);
  if (length > 0) framework_context.trace.Describe(key, text);
}

}  // namespace vramstow
