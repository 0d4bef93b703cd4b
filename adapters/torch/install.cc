// Installs the adapter: one exported function, which the loader of this library calls.
//
// Ownership: the adapter lives as long as the process. Threads: any; the first call installs, and a
// concurrent call waits for it. Errors: the reason, as the end of a sentence; then PyTorch's
// allocator is unchanged. Units: none.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "adapters/torch/adapter.h"
#include "adapters/torch/operators.h"

namespace vramstow::torch_adapter {
namespace {

static_assert(!std::is_abstract_v<Adapter>,
              "this release of PyTorch has pure virtual functions that the adapter lacks");

std::atomic<Adapter*> the_adapter{nullptr};

const vramstow_framework_observer kObserver = {
    [](int device, uint64_t address, uint64_t size, int mapped) {
      TheAdapter()->pool_observer().OnMapping(device, address, size, mapped != 0);
    },
    [](int device, uint64_t address, uint64_t size, uint64_t requested) {
      TheAdapter()->pool_observer().OnFreeCompleted(device, address, size, requested);
    }};

bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

// True if a library of LD_PRELOAD, such as torch_memory_saver, replaces the runtime's cudaMalloc.
// Such a library needs to see the requests of PyTorch's own allocator.
bool IsReplaced(const char* function) {
  const char* preloaded = std::getenv("LD_PRELOAD");
  void* found = dlsym(RTLD_DEFAULT, function);
  Dl_info about{};
  if (preloaded == nullptr || found == nullptr || dladdr(found, &about) == 0) return false;
  const char* slash = std::strrchr(about.dli_fname, '/');
  const char* file = slash == nullptr ? about.dli_fname : slash + 1;
  return std::strncmp(file, "libcudart.", 10) != 0 && std::strstr(preloaded, file) != nullptr;
}

// Returns null if the adapter is installed.
const char* Install() {
  if (TheAdapter() != nullptr) return nullptr;
  if (IsSet("PYTORCH_NO_CUDA_MEMORY_CACHING")) {
    return "PYTORCH_NO_CUDA_MEMORY_CACHING asks for no caching";
  }
  CUDAAllocator* native = caching::allocator.load();
  if (native == nullptr) return "PyTorch has no CUDA allocator yet";
  if (native->name() != "native") return "another allocator is chosen";
  if (IsReplaced("cudaMalloc")) return "a library in LD_PRELOAD serves cudaMalloc itself";
  void* found = dlsym(RTLD_DEFAULT, VRAMSTOW_TABLE_SYMBOL);
  if (found == nullptr) return "vramstow is not preloaded";
  const auto get_table = reinterpret_cast<vramstow_table_function>(found);
  const auto* table = reinterpret_cast<const vramstow_framework*>(
      get_table(VRAMSTOW_TABLE_POOL, VRAMSTOW_TABLE_POOL_VERSION));
  if (table == nullptr) return "the pool is off, or of an older version";
  if (native->initialized()) return "PyTorch has used CUDA already";
  auto* adapter = new Adapter(table, Native(native));
  the_adapter.store(adapter, std::memory_order_release);
  table->observe(&kObserver);
  caching::allocator.store(adapter);
  // c10 has a second pointer to the allocator. PyTorch sets it with priority 0, so a higher
  // priority replaces it.
  c10::SetAllocator(c10::DeviceType::CUDA, adapter, 255);
  return nullptr;
}

}  // namespace

Adapter* TheAdapter() { return the_adapter.load(std::memory_order_acquire); }

}  // namespace vramstow::torch_adapter

// Returns null if PyTorch's tensors come from the pool from now on; otherwise the reason why they
// do not, as the end of a sentence.
extern "C" __attribute__((visibility("default"))) const char* vramstow_torch_install() {
  using namespace vramstow::torch_adapter;
  static vramstow::Mutex mutex;
  const vramstow::MutexLock lock(&mutex);
  try {
    return Install();
  } catch (const std::exception&) {
    return "PyTorch refused";
  }
}

static_assert(std::is_same_v<decltype(&vramstow_torch_install), vramstow_torch_install_function>);

// Returns the release of PyTorch that this library was compiled against.
extern "C" __attribute__((visibility("default"))) const char* vramstow_torch_release() {
  return VRAMSTOW_TORCH_RELEASE;
}
