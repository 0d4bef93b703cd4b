// Who records and who listens.
#include "adapters/torch/adapter.h"

namespace vramstow::torch_adapter {

bool Adapter::isHistoryEnabled() { return history_.recording(); }

std::shared_ptr<GatheredContext> Adapter::getContextForPointer(const void* data) {
  return history_.ContextOf(data);
}

void Adapter::recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                            caching::RecordContext when, bool clear,
                            const std::vector<std::string>& skipped_actions) {
  // PyTorch's own allocator keeps the annotations, and the host's history.
  if constexpr (requires(CUDAAllocator * allocator) {
                  allocator->recordHistory(enabled, recorder, most, when, clear, skipped_actions);
                }) {
    native_->recordHistory(enabled, recorder, most, when, clear, skipped_actions);
  }
  history_.Configure(enabled, recorder, most, when, clear, skipped_actions);
}

void Adapter::recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                            caching::RecordContext when, bool clear) {
  recordHistory(enabled, recorder, most, when, clear, {});
}

void Adapter::recordAnnotation(const std::vector<std::pair<std::string, std::string>>& annotation) {
  native_->recordAnnotation(annotation);
}

void Adapter::pushCompileContext(std::string& text) {
  native_->pushCompileContext(text);
  history_.PushCompileContext(text);
}

void Adapter::popCompileContext() {
  native_->popCompileContext();
  history_.PopCompileContext();
}

bool Adapter::supportsUserMetadata() { return true; }

void Adapter::setUserMetadata(const std::string& metadata) {
  native_->setUserMetadata(metadata);
  history_.SetUserMetadata(metadata);
}

std::string Adapter::getUserMetadata() { return history_.UserMetadata(); }

// In a template, because not every release knows such entries.
namespace {
template <typename Entry>
void RecordAnnotationOf(History* history, const Place& place, const std::string& metadata) {
  if constexpr (requires { Entry::ANNOTATE; }) {
    const std::string before = history->UserMetadata();
    history->SetUserMetadata(metadata);
    history->Record(Entry::ANNOTATE, place, nullptr);
    history->SetUserMetadata(before);
  }
}
}  // namespace

void Adapter::annotateMemory(const void* data, const std::string& metadata) {
  vramstow_framework_block block;
  const auto address = reinterpret_cast<uint64_t>(data);
  if (!history_.recording() || table_->find(address, &block) != VRAMSTOW_OK) return;
  Device& device = devices_[block.device];
  RecordAnnotationOf<TraceEntry>(
      &history_,
      {device.index, block.address, block.requested, reinterpret_cast<void*>(block.stream),
       device.pools.IdOf(block.pool)},
      metadata);
}

void Adapter::attachOutOfMemoryObserver(OutOfMemoryObserver observer) {
  native_->attachOutOfMemoryObserver(observer);
  const std::lock_guard<std::mutex> lock(observers_mutex_);
  observers_.push_back(std::move(observer));
}

// The pool never rejects a request that it has not tried to serve.
void Adapter::attachOomRejectionObserver(OutOfMemoryObserver) {}

void Adapter::attachAllocatorTraceTracker(caching::AllocatorTraceTracker tracker) {
  native_->attachAllocatorTraceTracker(tracker);
  history_.AddTracker(std::move(tracker));
}

void Adapter::TellMapping(int device, uint64_t address, uint64_t size, bool mapped) {
  if (!history_.on()) return;
  history_.Record(mapped ? TraceEntry::SEGMENT_MAP : TraceEntry::SEGMENT_UNMAP,
                  {static_cast<DeviceIndex>(device), address, size}, History::Mapping::Current());
}

void Adapter::TellCompleted(int device, uint64_t address, uint64_t size, uint64_t requested) {
  if (device < 0 || device >= kMaxDevices) return;
  devices_[device].counters.Completed(size, requested);
  if (!history_.on()) return;
  history_.Record(TraceEntry::FREE_COMPLETED,
                  {static_cast<DeviceIndex>(device), address, requested}, nullptr);
}

}  // namespace vramstow::torch_adapter
