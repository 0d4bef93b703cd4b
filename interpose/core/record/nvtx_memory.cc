#include "interpose/core/record/nvtx_memory.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "base/keep_errno.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/runtime/settings.h"

namespace vramstow {
namespace {

using nvtx::ExportedCallbacks;
using nvtx::FunctionPlace;

// The table that a client of NVTX offers to the tool. Only the function that makes a domain is
// used.
constexpr unsigned kCore2Functions = 16;
constinit void* core2_functions[kCore2Functions] = {};
constinit FunctionPlace core2_places[kCore2Functions] = {};

int TableOf(int module, FunctionPlace** table, unsigned* count) {
  if (module != nvtx::kCore2 || table == nullptr || count == nullptr) return 0;
  for (unsigned i = 0; i < kCore2Functions; ++i) core2_places[i] = &core2_functions[i];
  *table = core2_places;
  *count = kCore2Functions;
  return 1;
}

const void* Export(uint32_t table) {
  static constexpr ExportedCallbacks kCallbacks = {sizeof(ExportedCallbacks), TableOf};
  return table == nvtx::kCallbacksTable ? &kCallbacks : nullptr;
}

void* MakeDomain(void* tool) {
  using Initialize = int (*)(nvtx::ExportTable);
  auto* initialize = reinterpret_cast<Initialize>(dlsym(tool, "InitializeInjectionNvtx2"));
  if (initialize == nullptr || initialize(Export) == 0) return nullptr;
  using Create = void* (*)(const char* name);
  auto* create = reinterpret_cast<Create>(core2_functions[nvtx::kDomainCreateA]);
  return create == nullptr ? nullptr : create("vramstow");
}

template <typename Function>
Function* FunctionAt(intptr_t place) {
  const bool none = place == nvtx::kFunctionFresh || place == nvtx::kFunctionDisabled;
  return none ? nullptr : reinterpret_cast<Function*>(place);
}

bool IsSegment(const Event& event) {
  return event.layer == Layer::kPool && event.memory == MemoryKind::kDevice;
}
bool IsBlock(const Event& event) {
  return event.layer != Layer::kPool && event.memory == MemoryKind::kDevice;
}

}  // namespace

// --- The search for a tool that listens ---------------------------------------------------------

const char* NvtxMemory::Ask(const char* tool) {
  if (tool == nullptr || *tool == '\0') return "it names no tool";
  void* const library = dlopen(tool, RTLD_LAZY);
  if (library == nullptr) return "this file cannot be opened";
  using Initialize = int (*)(nvtx::ExtensionModule*);
  auto* initialize =
      reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtxExtension"));
  if (initialize == nullptr) return "this tool supports no extension of NVTX";
  domain_ = MakeDomain(library);
  nvtx::ExtensionSegment segment = {1, nvtx::kMemoryFunctions, functions_};
  nvtx::ExtensionModule module = {};
  module.nvtx_version = nvtx::kNvtxVersion;
  module.size = sizeof module;
  module.module = nvtx::kMemoryModule;
  module.compatibility = nvtx::kMemoryCompatibility;
  module.segment_count = 1;
  module.segments = &segment;
  const bool takes = initialize(&module) != 0;
  for (const auto function : {nvtx::kHeapRegister, nvtx::kHeapUnregister, nvtx::kRegionsRegister,
                              nvtx::kRegionsUnregister}) {
    if (!takes || FunctionAt<void()>(functions_[function]) == nullptr) {
      return "this tool does not support NVTX's memory extension";
    }
  }
  return nullptr;
}

bool NvtxMemory::wanted(const Options& options) const {
  return options.nvtx_memory && WantsPool(options) &&
         state_.load(std::memory_order_relaxed) != State::kDeaf;
}

void NvtxMemory::Open(const Options& options) {
  if (!wanted(options)) return;
  State expected = State::kNew;
  // Other threads do not wait for the thread that asks the tool, because it may itself wait for the
  // dynamic linker.
  if (!state_.compare_exchange_strong(expected, State::kOpening)) return;
  KeepErrno keep_errno;
  const char* tool = std::getenv(nvtx::kToolVariable);
  const char* why = Ask(tool);
  state_.store(why == nullptr ? State::kListening : State::kDeaf, std::memory_order_release);
  if (why == nullptr) return;
  Log("--nvtx-memory announces nothing, because no tool receives it: %s is \"%.300s\", and %s.",
      nvtx::kToolVariable, tool == nullptr ? "" : tool, why);
}

void NvtxMemory::AbandonAfterFork() {
  mutex_.Reset();
  count_ = 0;
  full_ = false;
}

// --- Heaps --------------------------------------------------------------------------------------

// Returns the index of the first heap that begins behind the address.
size_t NvtxMemory::PlaceOf(uint64_t address) const {
  const Heap* end = heaps_ + count_;
  return static_cast<size_t>(
      std::upper_bound(heaps_, end, address,
                       [](uint64_t at, const Heap& heap) { return at < heap.address; }) -
      heaps_);
}

void NvtxMemory::AddHeap(uint64_t address, uint64_t size) {
  MutexLock lock(&mutex_);
  if (count_ == kMaxHeaps) {
    if (!full_) Log("--nvtx-memory announces no more than %zu heaps.", kMaxHeaps);
    full_ = true;
    return;
  }
  const size_t place = PlaceOf(address);
  std::copy_backward(heaps_ + place, heaps_ + count_, heaps_ + count_ + 1);
  heaps_[place] = {address, size, nullptr, false};
  ++count_;
}

void NvtxMemory::RemoveHeap(uint64_t address) {
  MutexLock lock(&mutex_);
  const size_t behind = PlaceOf(address);
  if (behind == 0 || heaps_[behind - 1].address != address) return;
  const Heap gone = heaps_[behind - 1];
  std::copy(heaps_ + behind, heaps_ + count_, heaps_ + behind - 1);
  --count_;
  if (!gone.announced) return;
  using Unregister = void(void* domain, void* heap);
  FunctionAt<Unregister>(functions_[nvtx::kHeapUnregister])(domain_, gone.handle);
}

// Finds the heap that contains the address. Returns false if the tool knows no such heap.
bool NvtxMemory::HeapOf(uint64_t address, bool announce, void** handle) {
  MutexLock lock(&mutex_);
  const size_t behind = PlaceOf(address);
  if (behind == 0) return false;
  Heap& heap = heaps_[behind - 1];
  if (address - heap.address >= heap.size || (!heap.announced && !announce)) return false;
  if (!heap.announced) {
    const nvtx::VirtualRange range = {heap.size, reinterpret_cast<const void*>(heap.address)};
    nvtx::HeapDescription about = {};
    about.compatibility = nvtx::kMemoryCompatibility;
    about.size = sizeof about;
    about.usage = nvtx::kSubAllocator;
    about.type = nvtx::kVirtualAddress;
    about.specific_size = sizeof range;
    about.specific = &range;
    using Register = void*(void* domain, const nvtx::HeapDescription* about);
    heap.handle = FunctionAt<Register>(functions_[nvtx::kHeapRegister])(domain_, &about);
    heap.announced = true;
  }
  *handle = heap.handle;
  return true;
}

// --- Regions ------------------------------------------------------------------------------------

void NvtxMemory::EmitRegion(const Event& event, void* heap) const {
  const nvtx::VirtualRange range = {event.requested, reinterpret_cast<const void*>(event.address)};
  nvtx::RegionsRegister regions = {};
  regions.compatibility = nvtx::kMemoryCompatibility;
  regions.size = sizeof regions;
  regions.type = nvtx::kVirtualAddress;
  regions.heap = heap;
  regions.count = 1;
  regions.element_size = sizeof range;
  regions.elements = &range;
  using Register = void(void* domain, const nvtx::RegionsRegister* regions);
  FunctionAt<Register>(functions_[nvtx::kRegionsRegister])(domain_, &regions);
}

void NvtxMemory::EmitRegionGone(const Event& event) const {
  const auto* const address = reinterpret_cast<const void*>(event.address);
  nvtx::RegionsUnregister regions = {};
  regions.compatibility = nvtx::kMemoryCompatibility;
  regions.size = sizeof regions;
  regions.reference_type = nvtx::kByPointer;
  regions.count = 1;
  regions.element_size = sizeof address;
  regions.elements = &address;
  using Unregister = void(void* domain, const nvtx::RegionsUnregister* regions);
  FunctionAt<Unregister>(functions_[nvtx::kRegionsUnregister])(domain_, &regions);
}

void NvtxMemory::OnEvent(const Event& event) {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::kDeaf) return;
  // While another thread is still opening the tool, heaps are stored but not registered with the
  // tool.
  const bool listens = state == State::kListening;
  void* heap = nullptr;
  switch (event.kind) {
    case EventKind::kReserve:
      AddHeap(event.address, event.size);
      break;
    case EventKind::kUnreserve:
      RemoveHeap(event.address);
      break;
    case EventKind::kAllocate:
      if (event.result != 0) break;
      if (IsSegment(event)) AddHeap(event.address, event.size);
      if (listens && IsBlock(event) && HeapOf(event.address, true, &heap)) EmitRegion(event, heap);
      break;
    case EventKind::kFree:
      if (IsSegment(event)) RemoveHeap(event.address);
      if (listens && IsBlock(event) && HeapOf(event.address, false, &heap)) EmitRegionGone(event);
      break;
    default:
      break;
  }
}

}  // namespace vramstow
