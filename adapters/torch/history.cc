#include "adapters/torch/history.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stack>
#include <string>
#include <utility>

namespace vramstow::torch_adapter {
namespace {

std::stack<std::string>& CompileContexts() {
  thread_local std::stack<std::string> contexts;
  return contexts;
}

std::string& ThreadMetadata() {
  thread_local std::string metadata;
  return metadata;
}

// Returns the bit of a kind of entry, by its name in the settings; 0 if there is no such kind.
uint32_t BitOf(const std::string& name) {
  static constexpr const char* kNames[] = {
      "alloc",       "free_requested", "free_completed", "segment_alloc", "segment_free",
      "segment_map", "segment_unmap",  "snapshot",       "oom",           "annotate"};
  static_assert(TraceEntry::ALLOC == 0 && TraceEntry::SNAPSHOT == 7 && TraceEntry::OOM == 8);
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return 1U << i;
  }
  return 0;
}

// Texts (such as the compile context) that are set in this process when an entry is made.
struct Texts {
  std::string compile_context;
  std::string user_metadata;
};

// This is a template, because later releases of PyTorch have more fields in an entry.
template <typename Entry>
Entry MakeEntry(typename Entry::Action action, const BlockRange& place, Context context,
                Texts texts) {
  auto* stream = static_cast<decltype(Entry::stream_)>(place.stream);
  const auto time = c10::getApproximateTime();
  if constexpr (requires(Entry entry) { entry.user_metadata_; }) {
    return Entry(action, place.device, place.address, place.size, stream, place.pool, time,
                 std::move(context), std::move(texts.compile_context),
                 std::move(texts.user_metadata));
  } else if constexpr (requires(Entry entry) { entry.compile_context_; }) {
    return Entry(action, place.device, place.address, place.size, stream, place.pool, time,
                 std::move(context), std::move(texts.compile_context));
  } else {
    return Entry(action, place.device, place.address, place.size, stream, time, std::move(context));
  }
}

// This is a template, because not every release of PyTorch has entries for annotations.
template <typename Entry>
void RecordAnnotation(History* history, const BlockRange& place, const std::string& text) {
  if constexpr (requires { Entry::ANNOTATE; }) {
    static_assert(Entry::ANNOTATE == 9);  // the bit in BitOf()
    const std::string before = history->UserMetadata();
    history->SetUserMetadata(text);
    history->Record(Entry::ANNOTATE, place, nullptr);
    history->SetUserMetadata(before);
  }
}

}  // namespace

void History::Configure(bool enabled, caching::CreateContextFn recorder, size_t most,
                        caching::RecordContext when, bool clear,
                        const std::vector<std::string>& skipped_actions) {
  TORCH_CHECK(when == caching::RecordContext::NEVER || recorder);
  const MutexLock lock(&mutex_);
  recording_ = enabled;
  recorder_ = enabled ? recorder : nullptr;
  when_ = enabled ? when : caching::RecordContext::NEVER;
  most_ = most > 0 ? most : 1;
  skipped_ = 0;
  for (const std::string& action : skipped_actions) skipped_ |= BitOf(action);
  for (Ring& ring : rings_) {
    // As in PyTorch, entries that were recorded under a higher limit stay.
    if (!enabled || clear) ring = Ring();
    const auto next = static_cast<std::ptrdiff_t>(ring.next);
    std::rotate(ring.entries.begin(), ring.entries.begin() + next, ring.entries.end());
    ring.next = 0;
  }
  Update();
}

void History::AddTracker(caching::AllocatorTraceTracker tracker) {
  const MutexLock lock(&mutex_);
  trackers_.push_back(std::move(tracker));
  Update();
}

Context History::Gather(caching::RecordContext level) const {
  if (when_.load() < level) return nullptr;
  const caching::CreateContextFn recorder = recorder_.load();
  return recorder == nullptr ? nullptr : recorder();
}

void History::Record(TraceEntry::Action action, const BlockRange& place, Context context) {
  if (!on()) return;
  const bool with_context = when_.load() >= caching::RecordContext::ALLOC;
  auto entry = MakeEntry<TraceEntry>(
      action, place, with_context ? std::move(context) : nullptr,
      {CompileContexts().empty() ? "N/A" : CompileContexts().top(), ThreadMetadata()});
  const MutexLock lock(&mutex_);
  for (const auto& tracker : trackers_) tracker(entry);
  if (!recording_ || IsSkipped(action) || place.device < 0) return;
  Add(static_cast<size_t>(place.device), std::move(entry));
}

void History::Add(size_t device, TraceEntry entry) {
  if (rings_.size() <= device) rings_.resize(device + 1);
  Ring& ring = rings_[device];
  if (ring.entries.size() < most_) {
    ring.entries.push_back(std::move(entry));
    return;
  }
  ring.entries[ring.next] = std::move(entry);
  ring.next = (ring.next + 1) % ring.entries.size();
}

Context& History::MappingScope::Current() {
  thread_local Context context;
  return context;
}

void History::Remember(const void* block, Context context) {
  if (context == nullptr) {
    Forget(block);
    return;
  }
  const MutexLock lock(&mutex_);
  contexts_[block] = std::move(context);
  remembered_ = contexts_.size();
}

Context History::Forget(const void* block) {
  if (!remembers()) return nullptr;
  const MutexLock lock(&mutex_);
  const auto known = contexts_.find(block);
  if (known == contexts_.end()) return nullptr;
  Context context = std::move(known->second);
  contexts_.erase(known);
  remembered_ = contexts_.size();
  return context;
}

Context History::ContextOf(const void* block) {
  if (!remembers()) return nullptr;
  const MutexLock lock(&mutex_);
  const auto known = contexts_.find(block);
  return known == contexts_.end() ? nullptr : known->second;
}

std::vector<std::vector<TraceEntry>> History::Entries(size_t devices) {
  const auto to_nanoseconds = clock_.makeConverter();
  const MutexLock lock(&mutex_);
  std::vector<std::vector<TraceEntry>> all(devices);
  for (size_t device = 0; device < devices && device < rings_.size(); ++device) {
    const Ring& ring = rings_[device];
    const size_t count = ring.entries.size();
    for (size_t i = 0; i < count; ++i) {
      TraceEntry entry = ring.entries[(ring.next + i) % count];
      entry.time_.t_ = to_nanoseconds(entry.time_.approx_t_) / 1000;
      all[device].push_back(std::move(entry));
    }
  }
  return all;
}

void History::PushCompileContext(const std::string& text) { CompileContexts().push(text); }

void History::PopCompileContext() {
  if (!CompileContexts().empty()) CompileContexts().pop();
}

void History::SetUserMetadata(const std::string& text) { ThreadMetadata() = text; }

std::string History::UserMetadata() const { return ThreadMetadata(); }

void History::Annotate(const BlockRange& place, const std::string& text) {
  RecordAnnotation<TraceEntry>(this, place, text);
}

}  // namespace vramstow::torch_adapter
