#include "tools/replay/requests.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/typed_event.h"
#include "tools/replay/flush_finder.h"

namespace vramstow {
namespace {

bool IsDeviceBlock(const Event& event) {
  return event.memory == MemoryKind::kDevice || event.memory == MemoryKind::kDevicePitched ||
         event.memory == MemoryKind::kDeviceStream;
}

// The requests of one device and layer, in order of arrival.
class Collector {
 public:
  // What the events of the source report.
  struct Recorded {
    bool frees_complete = false;  // when a free has completed
    bool pools = false;           // the pool of PyTorch from which each block comes
  };
  explicit Collector(const Recorded& recorded) : recorded_(recorded) {}

  void Take(const Event& event) {
    switch (event.kind) {
      case EventKind::kAllocate:
        return Allocate(event);
      case EventKind::kFree:
        if (!recorded_.frees_complete) Free(event);
        return;
      case EventKind::kFreeCompleted:
        if (recorded_.frees_complete) Free(event);
        return;
      case EventKind::kRefused:
        return Refuse(event);
      case EventKind::kTouch:
        return Touch(event);
      default:
        return;
    }
  }
  // Records that the application released the cache before the next request.
  void Flush() {
    if (!requests_.list.empty() && requests_.list.back().kind == RequestKind::kFlush) return;
    requests_.list.push_back({.kind = RequestKind::kFlush});
  }
  // True if the event frees a live block of this collector, or refuses one of its provisional
  // frees.
  bool Concerns(const Event& event) const {
    if (event.kind != EventKind::kRefused) return live_.contains(event.address);
    return std::ranges::find(provisional_, RefusedSequence(event), &ProvisionalFree::sequence) !=
           provisional_.end();
  }
  size_t size() const { return requests_.list.size(); }
  uint64_t peak_bytes() const { return peak_bytes_; }
  uint64_t allocations() const { return requests_.blocks; }
  Requests Done() {
    requests_.streams = static_cast<uint32_t>(streams_.size());
    requests_.pools = static_cast<uint32_t>(pools_.size()) + 1;
    requests_.last_of_pool.assign(requests_.pools, 0);
    // Numbers streams in the order of their handles, because allocators visit them in that order.
    std::vector<std::pair<uint64_t, uint32_t>> handles(streams_.begin(), streams_.end());
    std::ranges::sort(handles);
    std::vector<uint32_t> ranks(handles.size());
    for (size_t i = 0; i < handles.size(); ++i) ranks[handles[i].second] = static_cast<uint32_t>(i);
    for (size_t i = 0; i < requests_.list.size(); ++i) {
      Request& request = requests_.list[i];
      if (request.kind == RequestKind::kFlush || request.kind == RequestKind::kTouch) continue;
      requests_.last_of_pool[request.pool] = i;
      request.stream = ranks[request.stream];
    }
    return std::move(requests_);
  }

 private:
  // A free that is provisional, because the driver may refuse it. It becomes final after a certain
  // number of further frees.
  struct ProvisionalFree {
    uint64_t sequence;
    size_t index;
    uint64_t address;
  };
  static constexpr size_t kMaxProvisional = 4096;

  void Allocate(const Event& event) {
    // The pool id of a framework's block. In blocks of the driver this field has another meaning.
    // In blocks of vramstow's pool it says how they were served.
    const uint64_t pool = event.layer == Layer::kFramework && recorded_.pools ? event.object : 0;
    Request request;
    request.event = event.sequence;
    request.bytes = event.requested != 0 ? event.requested : event.size;
    request.stream = NumberOf(&streams_, event.stream, 0);
    request.pool = pool == 0 ? 0 : NumberOf(&pools_, pool, 1);
    request.block = requests_.blocks++;
    request.kind = event.result == 0 ? RequestKind::kAllocate : RequestKind::kTry;
    if (event.result == 0) {
      live_[event.address] = requests_.list.size();
      live_bytes_ += request.bytes;
      peak_bytes_ = std::max(peak_bytes_, live_bytes_);
      if (!starts_.empty()) starts_.insert(event.address);
    }
    requests_.list.push_back(request);
  }
  void Free(const Event& event) {
    const auto known = live_.find(event.address);
    if (known == live_.end()) {
      ++requests_.frees_of_unseen;
      return;
    }
    if (!recorded_.frees_complete) {
      if (provisional_.size() == kMaxProvisional) provisional_.pop_front();
      provisional_.push_back({event.sequence, requests_.list.size(), event.address});
    }
    Request request = requests_.list[known->second];
    request.event = event.sequence;
    request.kind = RequestKind::kFree;
    requests_.list.push_back(request);
    live_bytes_ -= std::min(live_bytes_, request.bytes);
    live_.erase(known);
    starts_.erase(event.address);
  }
  // Most events of work name the begin of a block. The addresses are sorted only when an event
  // names an address inside of a block.
  void Touch(const Event& event) {
    auto block = live_.find(event.address);
    if (block == live_.end()) {
      if (starts_.empty()) {
        for (const auto& [address, index] : live_) starts_.insert(address);
      }
      auto after = starts_.upper_bound(event.address);
      if (after == starts_.begin()) return;
      block = live_.find(*std::prev(after));
      if (event.address - block->first >= requests_.list[block->second].bytes) return;
    }
    ++requests_.touches;
    requests_.list.push_back({.bytes = event.time_ns,
                              .event = event.sequence,
                              .block = requests_.list[block->second].block,
                              .stream = static_cast<uint32_t>(TouchEvent::Of(event).clock),
                              .kind = RequestKind::kTouch});
  }
  void Refuse(const Event& event) {
    const auto found =
        std::ranges::find(provisional_, RefusedSequence(event), &ProvisionalFree::sequence);
    if (found == provisional_.end()) return;
    Request& free = requests_.list[found->index];
    for (size_t i = found->index; i-- > 0;) {
      const Request& before = requests_.list[i];
      if (before.block != free.block || before.kind != RequestKind::kAllocate) continue;
      live_[found->address] = i;
      if (!starts_.empty()) starts_.insert(found->address);
      break;
    }
    free.kind = RequestKind::kNone;
    provisional_.erase(found);
  }
  static uint32_t NumberOf(absl::flat_hash_map<uint64_t, uint32_t>* numbers, uint64_t key,
                           uint32_t first) {
    return numbers->try_emplace(key, static_cast<uint32_t>(numbers->size()) + first).first->second;
  }

  const Recorded recorded_;
  Requests requests_;
  uint64_t live_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  absl::flat_hash_map<uint64_t, size_t> live_;  // address → index of the allocation
  absl::btree_set<uint64_t> starts_;  // addresses of live blocks; empty until it is needed
  absl::flat_hash_map<uint64_t, uint32_t> streams_;
  absl::flat_hash_map<uint64_t, uint32_t> pools_;
  std::deque<ProvisionalFree> provisional_;
};

// Returns whose memory the recording's releases are. The events of a trace that was converted from
// another file are not those of vramstow's pool.
CacheOwner OwnerIn(const EventSource& source) {
  if (source.Kind() != "stow" || source.facts().contains("source.kind")) return CacheOwner::kOther;
  const auto pool = source.facts().find("option.pool");
  return pool != source.facts().end() && pool->second == "off" ? CacheOwner::kTraced
                                                               : CacheOwner::kOwnPool;
}

// Returns a number of bytes that the recording has about the device. Returns 0 if it does not have
// the number.
uint64_t BytesOfDevice(const EventSource& source, int16_t device, const char* which) {
  const auto fact = source.facts().find(absl::StrCat("device.", device, ".", which));
  uint64_t bytes = 0;
  if (fact == source.facts().end() || !absl::SimpleAtoi(fact->second, &bytes)) return 0;
  return bytes;
}

uint64_t AvailableBytes(const EventSource& source, int16_t device) {
  uint64_t available = BytesOfDevice(source, device, "free_bytes_at_start");
  if (available == 0) available = BytesOfDevice(source, device, "total_bytes");
  const uint64_t allowed = BytesOfDevice(source, device, "allowed_bytes");
  return allowed == 0 || available == 0 ? std::max(allowed, available)
                                        : std::min(allowed, available);
}

using Key = std::pair<Layer, int16_t>;
using Collectors = std::map<Key, Collector>;

// Returns the collector of the event. The driver's functions that free memory are given an address
// and no device, so the block's address, or the refused free, finds the device.
Collector& CollectorOf(const Event& event, const Collector::Recorded& recorded,
                       Collectors* collectors) {
  const Layer layer = event.layer == Layer::kFramework ? Layer::kFramework : Layer::kDriver;
  const bool is_free = event.kind == EventKind::kFree || event.kind == EventKind::kFreeCompleted ||
                       event.kind == EventKind::kRefused;
  if (is_free && event.device == kNoDevice) {
    for (auto& [key, collector] : *collectors) {
      if (key.first == layer && collector.Concerns(event)) return collector;
    }
  }
  // The driver's functions that free memory have no second event.
  const Collector::Recorded of_layer = {
      .frees_complete = recorded.frees_complete && layer == Layer::kFramework,
      .pools = recorded.pools};
  return collectors->try_emplace(Key{layer, event.device}, of_layer).first->second;
}

}  // namespace

absl::StatusOr<Requests> ReadRequests(EventSource* source, std::optional<int16_t> device) {
  Collectors collectors;
  const CacheOwner owner = OwnerIn(*source);
  FlushFinder finder(source, owner);
  const Collector::Recorded recorded = {.frees_complete = source->ReportsFreeCompleted(),
                                        .pools = owner == CacheOwner::kOther};
  Event event;
  while (source->Next(&event)) {
    if (const auto flushed = finder.Take(event)) {
      collectors.try_emplace({Layer::kFramework, *flushed}, recorded).first->second.Flush();
    }
    if (event.kind == EventKind::kTouch) {
      for (auto& [layer_device, collector] : collectors) {
        if (layer_device.second == event.device) collector.Take(event);
      }
      continue;
    }
    const bool counts =
        event.layer != Layer::kPool && (IsDeviceBlock(event) || event.kind == EventKind::kRefused);
    if (counts) CollectorOf(event, recorded, &collectors).Take(event);
  }
  for (const int16_t flushed : finder.OpenAtEnd()) {
    collectors.try_emplace({Layer::kFramework, flushed}, recorded).first->second.Flush();
  }
  const bool framework = std::ranges::any_of(collectors, [](const auto& entry) {
    return entry.first.first == Layer::kFramework && entry.second.allocations() != 0;
  });
  const Layer layer = framework ? Layer::kFramework : Layer::kDriver;
  Collector* best = nullptr;
  int16_t best_device = 0;
  uint64_t all = 0;
  for (auto& [key, collector] : collectors) {
    if (key.first != layer) continue;
    all += collector.size();
    if (device.has_value() ? key.second == *device
                           : best == nullptr || collector.size() > best->size()) {
      best = &collector;
      best_device = key.second;
    }
  }
  if (best == nullptr || best->allocations() == 0) {
    return absl::InvalidArgumentError(
        device.has_value() ? absl::StrCat("no memory was requested on device ", *device, ".")
                           : "no memory was requested on any device.");
  }
  const uint64_t others = all - best->size();
  Requests requests = best->Done();
  requests.device = best_device;
  requests.device_bytes = BytesOfDevice(*source, best_device, "total_bytes");
  requests.available_bytes = AvailableBytes(*source, best_device);
  // Libraries other than the framework use a part of the GPU, for example workspaces of cuBLAS.
  if (const auto beside = collectors.find({Layer::kDriver, best_device});
      framework && beside != collectors.end()) {
    requests.available_bytes -= std::min(requests.available_bytes, beside->second.peak_bytes());
  }
  requests.failed =
      static_cast<uint64_t>(std::ranges::count(requests.list, RequestKind::kTry, &Request::kind));
  requests.layer = layer;
  requests.guessed_flushes = finder.guesses();
  requests.other_devices = others;
  requests.missing = source->missing();
  return requests;
}

}  // namespace vramstow
