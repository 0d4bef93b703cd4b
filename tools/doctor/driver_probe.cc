#include "tools/doctor/driver_probe.h"

#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "tools/doctor/driver_functions.h"
#include "tools/json/json_value.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr size_t kTrialBytes = size_t{1} << 20;

void Print(const char* key, const JsonValue& value) {
  WriteAll(STDOUT_FILENO, JsonValue::Object({{key, value}}).Dump() + "\n");
}

JsonValue DeviceOf(const DriverFunctions& driver, CUdevice device) {
  char name[256] = "";
  size_t total = 0;
  driver.Call("cuDeviceGetName", &name[0], static_cast<int>(sizeof name), device);
  driver.Call("cuDeviceTotalMem_v2", &total, device);
  name[sizeof name - 1] = '\0';
  JsonValue json = JsonValue::Object({{"name", name},
                                      {"uuid", driver.UuidOf(device)},
                                      {"total_bytes", total},
                                      {"attributes", JsonValue::Object()}});
  const std::pair<const char*, int> attributes[] = {
      {"compute_capability_major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {"compute_capability_minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {"compute_mode", CU_DEVICE_ATTRIBUTE_COMPUTE_MODE},
      {"virtual_memory", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED},
      {"memory_pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED},
      {"file_descriptors", CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED},
      {"direct_rdma", CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED},
      // These attributes are given by number, because older headers do not name them.
      {"host_numa_node", 134},
      {"host_numa_memory", 141},
      {"host_memory", 145}};
  for (const auto& [key, attribute] : attributes) {
    int value = 0;
    if (driver.Attribute(attribute, device, &value)) json["attributes"][key] = value;
  }
  return json;
}

// Checks that bytes copied to the address can be copied back.
int TryCopies(const DriverFunctions& driver, CUdeviceptr address) {
  constexpr uint64_t kMark = 0x76726d73746f7721;
  const uint64_t sent = kMark;
  uint64_t received = 0;
  int result =
      driver.Call("cuMemcpyHtoD_v2", address, static_cast<const void*>(&sent), sizeof sent);
  if (result == CUDA_SUCCESS) {
    result =
        driver.Call("cuMemcpyDtoH_v2", static_cast<void*>(&received), address, sizeof received);
  }
  return result == CUDA_SUCCESS && received != sent ? static_cast<int>(CUDA_ERROR_UNKNOWN) : result;
}

// Creates physical memory at this location, maps it, makes it accessible, and frees all of it.
int TryMapping(const DriverFunctions& driver, CUdevice device, CUmemLocation location) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = location;
  size_t size = 0;
  int result = driver.Call("cuMemGetAllocationGranularity", &size,
                           static_cast<const CUmemAllocationProp*>(&properties),
                           CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  if (result != CUDA_SUCCESS) return result;
  CUmemGenericAllocationHandle handle = 0;
  result = driver.Call("cuMemCreate", &handle, size,
                       static_cast<const CUmemAllocationProp*>(&properties), 0ULL);
  if (result != CUDA_SUCCESS) return result;
  CUdeviceptr address = 0;
  result = driver.Call("cuMemAddressReserve", &address, size, size_t{0}, CUdeviceptr{0}, 0ULL);
  if (result == CUDA_SUCCESS) {
    result = driver.Call("cuMemMap", address, size, size_t{0}, handle, 0ULL);
    if (result == CUDA_SUCCESS) {
      CUmemAccessDesc access{};
      access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
      access.location.id = device;
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      result = driver.Call("cuMemSetAccess", address, size,
                           static_cast<const CUmemAccessDesc*>(&access), size_t{1});
      if (result == CUDA_SUCCESS) result = TryCopies(driver, address);
      driver.Call("cuMemUnmap", address, size);
    }
    driver.Call("cuMemAddressFree", address, size);
  }
  driver.Call("cuMemRelease", handle);
  return result;
}

int TryContextEvent(const DriverFunctions& driver, CUcontext context) {
  CUevent event = nullptr;
  int result = driver.Call("cuEventCreate", &event, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  if (result != CUDA_SUCCESS) return result;
  result = driver.Call("cuCtxRecordEvent", context, event);
  driver.Call("cuEventDestroy_v2", event);
  return result;
}

int TryStreamOrdered(const DriverFunctions& driver) {
  CUdeviceptr address = 0;
  const CUstream stream = nullptr;
  const int result = driver.Call("cuMemAllocAsync", &address, kTrialBytes, stream);
  if (result != CUDA_SUCCESS) return result;
  driver.Call("cuMemFreeAsync", address, stream);
  return driver.Call("cuStreamSynchronize", stream);
}

// Returns the driver's answer to each step.
JsonValue TryDevice(const DriverFunctions& driver, CUdevice device) {
  CUcontext context = nullptr;
  int result = driver.Call("cuDevicePrimaryCtxRetain", &context, device);
  if (result == CUDA_SUCCESS) result = driver.Call("cuCtxSetCurrent", context);
  JsonValue trial = JsonValue::Object({{"context", driver.NameOf(result)}});
  if (result != CUDA_SUCCESS) return trial;
  size_t free = 0;
  size_t total = 0;
  if (driver.Call("cuMemGetInfo_v2", &free, &total) == CUDA_SUCCESS) trial["free_bytes"] = free;
  CUdeviceptr address = 0;
  result = driver.Call("cuMemAlloc_v2", &address, kTrialBytes);
  trial["allocate"] = driver.NameOf(result);
  if (result == CUDA_SUCCESS) {
    CUipcMemHandle shared{};
    trial["ipc"] = driver.NameOf(driver.Call("cuIpcGetMemHandle", &shared, address));
    driver.Call("cuMemFree_v2", address);
  }
  trial["stream_ordered"] = driver.NameOf(TryStreamOrdered(driver));
  CUmemLocation here{};
  here.type = CU_MEM_LOCATION_TYPE_DEVICE;
  here.id = device;
  trial["virtual_memory"] = driver.NameOf(TryMapping(driver, device, here));
  trial["context_event"] = driver.NameOf(TryContextEvent(driver, context));
  driver.Call("cuDevicePrimaryCtxRelease_v2", device);
  return trial;
}

}  // namespace

int ProbeDriver() {
  void* const library = DriverFunctions::Open();
  if (library == nullptr || dlsym(library, "cuInit") == nullptr) {
    const char* reason = library == nullptr ? dlerror() : "it has no cuInit";
    Print("library", JsonValue::Object({{"missing", reason == nullptr ? "" : reason}}));
    return 0;
  }
  const DriverFunctions driver(library);
  Print("library", JsonValue::Object({{"path", driver.Path()}, {"simulated", driver.simulated()}}));
  const int init = driver.Call("cuInit", 0U);
  Print("init", JsonValue::Object({{"result", init}, {"name", driver.NameOf(init)}}));
  int version = 0;
  driver.Call("cuDriverGetVersion", &version);
  Print("version", version);
  if (init != CUDA_SUCCESS) return 0;
  int count = 0;
  driver.Call("cuDeviceGetCount", &count);
  Print("count", count);
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    if (driver.Call("cuDeviceGet", &device, i) != CUDA_SUCCESS) continue;
    const JsonValue about = DeviceOf(driver, device);
    Print("device", about);
    Print("trial", TryDevice(driver, device));
  }
  return 0;
}

int ProbePreload() {
  JsonValue said = JsonValue::Object({{"version", nullptr}, {"result", ""}, {"pool_bytes", 0}});
  void* const version = dlsym(RTLD_DEFAULT, "vramstow_version");
  if (version != nullptr) said["version"] = reinterpret_cast<const char* (*)()>(version)();
  void* const library = DriverFunctions::Open();
  if (library == nullptr) {
    said["result"] = "no driver";
  } else {
    const DriverFunctions driver(library);
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    int result = driver.Call("cuInit", 0U);
    if (result == CUDA_SUCCESS) result = driver.Call("cuDevicePrimaryCtxRetain", &context, 0);
    if (result == CUDA_SUCCESS) result = driver.Call("cuCtxSetCurrent", context);
    if (result == CUDA_SUCCESS) result = driver.Call("cuMemAlloc_v2", &address, kTrialBytes);
    // The first field of the struct is the allocated bytes, and only that field is requested.
    uint64_t allocated = 0;
    void* const stats = dlsym(RTLD_DEFAULT, "vramstow_get_stats");
    if (stats != nullptr && reinterpret_cast<int (*)(int, void*, size_t)>(stats)(
                                -1, &allocated, sizeof allocated) == 0) {
      said["pool_bytes"] = allocated;
    }
    if (result == CUDA_SUCCESS) result = driver.Call("cuMemFree_v2", address);
    said["result"] = driver.NameOf(result);
  }
  Print("preload", said);
  return 0;
}

}  // namespace vramstow
