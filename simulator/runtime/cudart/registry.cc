#include "simulator/runtime/cudart/registry.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"

namespace vramstow::simulator::cudart {

namespace {

// The structure that nvcc emits for a fat binary and passes to the registration; the first member
// is kFatBinaryMagic. Source: fatbinary_section.h of the CUDA Toolkit (the packages on PyPI do not
// have that header).
struct FatBinaryWrapper {
  int magic;
  int version;
  const void* data;
  const void* name_or_prelinked;
};
constexpr int kFatBinaryMagic = 0x466243b1;

enum class Kind { kKernel, kVariable, kManaged };

struct Entry {
  const void* host;
  const char* name;
  size_t size;
  Kind kind;
};

struct RegisteredSymbol {
  FatBinary* binary;
  const char* name;
  const void* host;
  size_t size;
  Kind kind;
  CUkernel kernel;  // null until it is first requested
};

}  // namespace

struct FatBinary {
  const void* image = nullptr;
  CUlibrary library = nullptr;
  std::vector<Entry> entries;
  // Number of entries that the index contains.
  size_t indexed = 0;
  bool managed_ready = false;
};

namespace {

// The registry is leaked, because exit handlers of other libraries still use it.
struct Registry {
  Mutex mutex;  // also guards the contents of FatBinary objects
  std::vector<FatBinary*> binaries VRAMSTOW_GUARDED_BY(mutex);
  // True if an object was registered and is not in the index yet.
  bool stale VRAMSTOW_GUARDED_BY(mutex) = false;
  std::unordered_map<const void*, RegisteredSymbol> index VRAMSTOW_GUARDED_BY(mutex);
  std::unordered_set<const void*> kernels VRAMSTOW_GUARDED_BY(mutex);
};

Registry& TheRegistry() {
  static Registry* registry = new Registry;
  return *registry;
}

void IndexEntries(Registry& registry) VRAMSTOW_REQUIRES(registry.mutex) {
  if (!registry.stale) {
    return;
  }
  registry.stale = false;
  for (FatBinary* binary : registry.binaries) {
    for (; binary->indexed < binary->entries.size(); ++binary->indexed) {
      const Entry& entry = binary->entries[binary->indexed];
      registry.index[entry.host] = {binary,     entry.name, entry.host,
                                    entry.size, entry.kind, nullptr};
    }
  }
}

RegisteredSymbol* Find(Registry& registry, const void* host) VRAMSTOW_REQUIRES(registry.mutex) {
  auto found = registry.index.find(host);
  if (found == registry.index.end()) {
    IndexEntries(registry);
    found = registry.index.find(host);
  }
  return found == registry.index.end() ? nullptr : &found->second;
}

// Removes the index entry of this address if it belongs to the binary.
void Forget(Registry& registry, const FatBinary* binary, const void* host)
    VRAMSTOW_REQUIRES(registry.mutex) {
  auto found = registry.index.find(host);
  if (found != registry.index.end() && found->second.binary == binary) {
    registry.index.erase(found);
  }
}

void Unregister(Registry& registry, FatBinary* binary) VRAMSTOW_REQUIRES(registry.mutex) {
  for (size_t i = 0; i < binary->indexed; ++i) {
    const Entry& entry = binary->entries[i];
    Forget(registry, binary, entry.host);
    if (entry.kind == Kind::kManaged) {
      Forget(registry, binary, *static_cast<void* const*>(entry.host));
    }
  }
  auto& binaries = registry.binaries;
  binaries.erase(std::remove(binaries.begin(), binaries.end(), binary), binaries.end());
  delete binary;
}

cudaError_t Load(FatBinary* binary) {
  if (binary->library != nullptr) {
    return cudaSuccess;
  }
  if (binary->image == nullptr) {
    return cudaErrorInvalidKernelImage;
  }
  return FromDriver(Driver().LibraryLoadData(&binary->library, binary->image, nullptr, nullptr, 0,
                                             nullptr, nullptr, 0));
}

// Allocates a managed variable, which is a pointer in the host's program. If the driver has no
// image of the variable, it does not allocate it (the simulated driver does not read device code).
// Then the variable gets managed memory filled with zeros, whatever value the source initializes it
// with.
cudaError_t LoadManagedVariable(Registry& registry, FatBinary* binary, const Entry& entry)
    VRAMSTOW_REQUIRES(registry.mutex) {
  CUdeviceptr address = 0;
  CUresult result = Driver().LibraryGetManaged(&address, nullptr, binary->library, entry.name);
  if (result == CUDA_ERROR_NOT_FOUND) {
    result = Driver().MemAllocManaged(&address, entry.size, CU_MEM_ATTACH_GLOBAL);
  }
  if (result == CUDA_SUCCESS) {
    void* memory = reinterpret_cast<void*>(address);
    *static_cast<void**>(const_cast<void*>(entry.host)) = memory;
    // Compiled code identifies the variable by the address of its memory, not by the registered
    // pointer.
    registry.index[memory] = {binary, entry.name, entry.host, entry.size, entry.kind, nullptr};
  }
  return FromDriver(result);
}

cudaError_t LoadManaged(Registry& registry, FatBinary* binary) VRAMSTOW_REQUIRES(registry.mutex) {
  if (binary->managed_ready) {
    return cudaSuccess;
  }
  if (cudaError_t error = Load(binary); error != cudaSuccess) {
    return error;
  }
  for (const Entry& entry : binary->entries) {
    if (entry.kind == Kind::kManaged) {
      if (cudaError_t error = LoadManagedVariable(registry, binary, entry); error != cudaSuccess) {
        return error;
      }
    }
  }
  binary->managed_ready = true;
  return cudaSuccess;
}

}  // namespace

FatBinary* RegisterFatBinary(const void* wrapper) {
  auto* binary = new (std::nothrow) FatBinary;
  if (binary == nullptr) {
    return nullptr;
  }
  // A pointer that is not a wrapper may have any alignment, so only its first bytes are copied.
  int magic = 0;
  if (wrapper != nullptr) {
    memcpy(&magic, wrapper, sizeof(magic));
  }
  if (magic == kFatBinaryMagic) {
    binary->image = static_cast<const FatBinaryWrapper*>(wrapper)->data;
  }
  Registry& registry = TheRegistry();
  const MutexLock lock(&registry.mutex);
  registry.binaries.push_back(binary);
  return binary;
}

void RegisterKernel(FatBinary* binary, const void* host_function, const char* name) {
  Registry& registry = TheRegistry();
  const MutexLock lock(&registry.mutex);
  binary->entries.push_back({host_function, name, 0, Kind::kKernel});
  registry.stale = true;
}

void RegisterVariable(FatBinary* binary, const void* host_variable, const char* name, size_t size,
                      bool managed) {
  Registry& registry = TheRegistry();
  const MutexLock lock(&registry.mutex);
  binary->entries.push_back(
      {host_variable, name, size, managed ? Kind::kManaged : Kind::kVariable});
  registry.stale = true;
}

void UnregisterFatBinary(FatBinary* binary) {
  Registry& registry = TheRegistry();
  // A forked child may have inherited the lock in its locked state. The exit of the child must not
  // hang on the lock, so the number of attempts is limited.
  for (int tries = 0; tries <= 100; ++tries) {
    if (registry.mutex.TryLock()) {
      Unregister(registry, binary);
      registry.mutex.Unlock();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

cudaError_t InitialiseManaged(FatBinary* binary) {
  Registry& registry = TheRegistry();
  const MutexLock lock(&registry.mutex);
  return LoadManaged(registry, binary);
}

cudaError_t FindKernel(const void* function, CUkernel* kernel) {
  Registry& registry = TheRegistry();
  const MutexLock lock(&registry.mutex);
  RegisteredSymbol* place = Find(registry, function);
  if (place == nullptr || place->kind != Kind::kKernel) {
    if (registry.kernels.count(function) == 0) {
      return cudaErrorInvalidDeviceFunction;
    }
    *kernel = static_cast<CUkernel>(const_cast<void*>(function));
    return cudaSuccess;
  }
  if (place->kernel == nullptr) {
    if (cudaError_t error = Load(place->binary); error != cudaSuccess) {
      return error;
    }
    CUresult result =
        Driver().LibraryGetKernel(&place->kernel, place->binary->library, place->name);
    if (result != CUDA_SUCCESS) {
      place->kernel = nullptr;
      return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : FromDriver(result);
    }
    registry.kernels.insert(place->kernel);
  }
  *kernel = place->kernel;
  return cudaSuccess;
}

namespace {
std::atomic<bool> may_miss_images{false};
}  // namespace

void NoteMissingImage() { may_miss_images.store(true, std::memory_order_relaxed); }
bool MayMissImages() { return may_miss_images.load(std::memory_order_relaxed); }

void RememberKernel(CUkernel kernel) {
  Registry& registry = TheRegistry();
  const MutexLock lock(&registry.mutex);
  registry.kernels.insert(kernel);
}

cudaError_t FindVariable(const void* host_variable, CUdeviceptr* address, size_t* size) {
  Registry& registry = TheRegistry();
  const MutexLock lock(&registry.mutex);
  RegisteredSymbol* place = Find(registry, host_variable);
  if (place == nullptr || place->kind == Kind::kKernel) {
    return cudaErrorInvalidSymbol;
  }
  if (place->kind == Kind::kManaged) {
    cudaError_t error = LoadManaged(registry, place->binary);
    if (error == cudaSuccess) {
      *address = Address(*static_cast<void* const*>(place->host));
    }
    if (error == cudaSuccess && size != nullptr) {
      *size = place->size;
    }
    return error;
  }
  if (cudaError_t error = Load(place->binary); error != cudaSuccess) {
    return error;
  }
  CUresult result =
      Driver().LibraryGetGlobal(address, nullptr, place->binary->library, place->name);
  if (result == CUDA_SUCCESS && size != nullptr) {
    *size = place->size;
  }
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : FromDriver(result);
}

}  // namespace vramstow::simulator::cudart
