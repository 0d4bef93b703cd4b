// Native is PyTorch's own allocator, which remains available behind the adapter.
//
// Idea: some functions of PyTorch's allocator exist only in some releases, or have another form
// there. Native has one function for each of these functions; it calls the form that this release
// has. The functions of Native are templates, because only a template may test whether a function
// exists. Functions that have one form in all releases are called with `->`.
//
// Ownership: refers to an allocator that lives as long as the process; copied like a pointer.
// Threads: any. Errors: PyTorch's exceptions. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_NATIVE_H_
#define VRAMSTOW_ADAPTERS_TORCH_NATIVE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "adapters/torch/torch_api.h"

namespace c10::cuda {
struct MemPoolContext;  // not in every release
}  // namespace c10::cuda

namespace vramstow::torch_adapter {

class Native {
 public:
  explicit Native(CUDAAllocator* allocator) : allocator_(allocator) {}

  CUDAAllocator* operator->() const { return allocator_; }

  // --- Caching and its limits --------------------------------------------------------------------
  template <typename Allocator = CUDAAllocator>
  bool IsEnabled() const {
    const Allocator* own = allocator_;
    if constexpr (requires { own->isEnabled(); }) return own->isEnabled();
    return true;
  }

  template <typename Allocator = CUDAAllocator>
  void Enable(bool value) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->enable(value); }) own->enable(value);
  }

  template <typename Allocator = CUDAAllocator>
  double MemoryFraction(DeviceIndex device) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->getMemoryFraction(device); }) {
      return own->getMemoryFraction(device);
    }
    return 1;
  }

  template <typename Allocator = CUDAAllocator>
  void EmptyCache(MempoolId_t id) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->emptyCache(id); }) {
      own->emptyCache(id);
    } else {
      own->emptyCache();
    }
  }

  template <typename Allocator = CUDAAllocator>
  SnapshotInfo Snapshot(MempoolId_t id, bool include_traces) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->snapshot(id, include_traces); }) {
      return own->snapshot(id, include_traces);
    } else if constexpr (requires { own->snapshot(id); }) {
      return own->snapshot(id);
    } else {
      return own->snapshot();
    }
  }

  // --- Private pools -----------------------------------------------------------------------------
  // Adds a user of a private pool. A release of PyTorch without a function for this makes a pool
  // when the first allocation to it begins.
  template <typename Allocator = CUDAAllocator>
  void AddPoolUser(DeviceIndex device, MempoolId_t id,
                   std::shared_ptr<CUDAAllocator> allocator) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->createOrIncrefPool(device, id, allocator); }) {
      own->createOrIncrefPool(device, id, std::move(allocator));
    } else if constexpr (requires { own->createOrIncrefPool(device, id, allocator.get()); }) {
      own->createOrIncrefPool(device, id, allocator.get());
    } else if constexpr (requires { own->ensureExistsAndIncrefPool(device, id); }) {
      own->ensureExistsAndIncrefPool(device, id);
    }
  }

  template <typename Allocator = CUDAAllocator>
  void SetUseOnOutOfMemory(DeviceIndex device, MempoolId_t id, bool use) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->setUseOnOOM(device, id, use); }) {
      own->setUseOnOOM(device, id, use);
    } else if constexpr (requires { own->setUseOnOOM(device, id); }) {
      if (use) own->setUseOnOOM(device, id);
    }
  }

  template <typename Allocator = CUDAAllocator>
  void SetNoSplit(DeviceIndex device, MempoolId_t id) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->setNoSplit(device, id); }) own->setNoSplit(device, id);
  }

  // Returns the pool that the calling thread uses, or {0, 0} for none. In some releases an
  // allocator can learn only from this function which pool is in use, and which allocator a pool
  // has.
  template <typename Context = c10::cuda::MemPoolContext>
  static MempoolId_t ActivePool() {
    if constexpr (requires { Context::getActiveMemPool()->id(); }) {
      auto* active = Context::getActiveMemPool();
      if (active != nullptr) return active->id();
    }
    return {0, 0};
  }

  template <typename Context = c10::cuda::MemPoolContext>
  static bool IsActiveWithAllocator(MempoolId_t id) {
    if constexpr (requires { Context::getActiveMemPool()->allocator(); }) {
      auto* active = Context::getActiveMemPool();
      return active != nullptr && active->allocator() != nullptr && active->id() == id;
    }
    return false;
  }

  // --- Sharing -----------------------------------------------------------------------------------
  template <typename Allocator = CUDAAllocator>
  ShareableHandle ShareIpcHandle(void* data) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->shareIpcHandle(data); }) return own->shareIpcHandle(data);
    return {};
  }

  // --- History -----------------------------------------------------------------------------------
  template <typename Allocator = CUDAAllocator>
  void RecordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                     caching::RecordContext when, bool clear,
                     const std::vector<std::string>& skipped_actions) const {
    Allocator* own = allocator_;
    if constexpr (requires {
                    own->recordHistory(enabled, recorder, most, when, clear, skipped_actions);
                  }) {
      own->recordHistory(enabled, recorder, most, when, clear, skipped_actions);
    } else if constexpr (requires { own->recordHistory(enabled, recorder, most, when, clear); }) {
      own->recordHistory(enabled, recorder, most, when, clear);
    } else {
      own->recordHistory(enabled, recorder, most, when);
    }
  }

  template <typename Allocator = CUDAAllocator>
  void RecordAnnotation(const std::vector<std::pair<std::string, std::string>>& annotation) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->recordAnnotation(annotation); }) {
      own->recordAnnotation(annotation);
    }
  }

  template <typename Allocator = CUDAAllocator>
  void PushCompileContext(std::string& text) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->pushCompileContext(text); }) own->pushCompileContext(text);
  }

  template <typename Allocator = CUDAAllocator>
  void PopCompileContext() const {
    Allocator* own = allocator_;
    if constexpr (requires { own->popCompileContext(); }) own->popCompileContext();
  }

  template <typename Allocator = CUDAAllocator>
  void SetUserMetadata(const std::string& metadata) const {
    Allocator* own = allocator_;
    if constexpr (requires { own->setUserMetadata(metadata); }) own->setUserMetadata(metadata);
  }

 private:
  CUDAAllocator* allocator_;
};

}  // namespace vramstow::torch_adapter

#endif  // VRAMSTOW_ADAPTERS_TORCH_NATIVE_H_
