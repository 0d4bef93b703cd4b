// Converts the samples of a profiler trace to events.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/driver_result.h"
#include "base/typed_event.h"
#include "tools/formats/profiler_trace.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {
namespace {

// The address of the block that stands for allocated memory without events. No GPU has memory
// there.
constexpr uint64_t kUnrecordedAddress = uint64_t{1} << 62;
// No GPU has this much memory; a file with larger numbers is not valid.
constexpr int64_t kMaxBytes = int64_t{1} << 50;

uint64_t SizeOf(const ProfilerSample& sample) {
  if (sample.bytes >= 0) return static_cast<uint64_t>(sample.bytes);
  return static_cast<uint64_t>(-(sample.bytes + 1)) + 1;
}

// Converts a number of bytes to a signed number, which is at most kMaxBytes + 1.
int64_t Signed(uint64_t bytes) {
  return static_cast<int64_t>(std::min(bytes, uint64_t{kMaxBytes} + 1));
}

// The allocated bytes of one device, computed in two ways: from its samples, and from the
// allocator's own totals.
class DeviceSamples {
 public:
  struct Change {
    size_t sample;  // the sample that it precedes
    uint64_t bytes;
  };

  void Allocate(uint64_t address, uint64_t size) {
    const auto [known, is_new] = live_.try_emplace(address, size);
    contradictions_ += !is_new;
    Add(is_new ? 0 : -Signed(known->second));
    known->second = size;
    Add(Signed(size));
    seen_.insert(address);
  }

  // Records a free. Returns true if the block existed before the first sample.
  bool Free(uint64_t address, uint64_t size) {
    if (const auto known = live_.find(address); known != live_.end()) {
      Add(-Signed(known->second));
      live_.erase(known);
      return false;
    }
    if (!seen_.insert(address).second) {
      ++contradictions_;
      return false;
    }
    Add(-Signed(size));
    if (is_believed_) opened_ += Signed(size);
    is_believed_ &= opened_ <= kMaxBytes;
    return true;
  }

  void NoteSample(size_t number, const ProfilerSample& sample) {
    if (!sample.has_allocated || sample.out_of_memory) return;
    const int64_t total = Signed(sample.total_allocated);
    // Some writers always write zero as the total. If one total is smaller than the bytes of its
    // sample, or larger than any GPU, all totals of this device are ignored.
    is_believed_ &= total <= kMaxBytes && sample.bytes <= total;
    beyond_.push_back({number, total - sum_});
  }

  bool is_believed() const { return is_believed_; }
  uint64_t contradictions() const { return contradictions_; }

  // Returns how many bytes are allocated in addition to the known blocks, at the start and at each
  // sample where this number changes. The samples of several threads may be in another order than
  // the one in which the totals were counted. So a change counts only if the next sample confirms
  // it.
  std::vector<Change> Unrecorded() const {
    std::vector<Change> changes;
    if (!is_believed_) return changes;
    uint64_t now = 0;
    for (size_t i = 0; i < beyond_.size(); ++i) {
      const bool agrees = i + 1 < beyond_.size() && beyond_[i + 1].bytes == beyond_[i].bytes;
      if (i != 0 && !agrees) continue;
      const auto bytes = static_cast<uint64_t>(std::max(beyond_[i].bytes - opened_, int64_t{0}));
      if (bytes == now) continue;
      changes.push_back({i == 0 ? 0 : beyond_[i].sample, bytes});
      now = bytes;
    }
    return changes;
  }

 private:
  struct Beyond {
    size_t sample;
    int64_t bytes;  // the total, less the sum of the samples
  };

  void Add(int64_t bytes) {
    is_believed_ &= bytes <= kMaxBytes && bytes >= -kMaxBytes;
    if (is_believed_) sum_ += bytes;
    is_believed_ &= sum_ <= kMaxBytes && sum_ >= -kMaxBytes;
  }

  absl::flat_hash_map<uint64_t, uint64_t> live_;  // address → size
  absl::flat_hash_set<uint64_t> seen_;
  std::vector<Beyond> beyond_;
  int64_t sum_ = 0;
  int64_t opened_ = 0;
  uint64_t contradictions_ = 0;
  bool is_believed_ = true;
};

class ProfilerEventMaker {
 public:
  explicit ProfilerEventMaker(const ProfilerTrace& trace)
      : trace_(trace), start_ns_(trace.samples.empty() ? 0 : trace.samples.front().time_ns) {
    list_.facts = trace.facts;
    list_.missing = trace.missing;
    list_.complete = trace.complete;
    opening_call_ = list_.Call("window_start");
    memory_call_ = list_.Call("[memory]");
    out_of_memory_call_ = list_.Call("[OutOfMemory]");
  }

  EventList Make() {
    for (size_t i = 0; i < trace_.samples.size(); ++i) AddSample(i);
    AddUnrecorded();
    AddSteps();
    NoteWhatIsMissing();
    list_.events.insert(list_.events.begin(), opening_.begin(), opening_.end());
    Number();
    return std::move(list_);
  }

 private:
  uint64_t Since(int64_t time_ns) const {
    return static_cast<uint64_t>(std::max(time_ns, start_ns_)) - static_cast<uint64_t>(start_ns_);
  }

  // Makes an event from a sample. Until Number() is called, the sequence of the event is 1 + the
  // number of the sample, or 0 if the event has no sample.
  Event EventOf(size_t number, EventKind kind) const {
    const ProfilerSample& sample = trace_.samples[number];
    Event event;
    event.kind = kind;
    event.layer = Layer::kFramework;
    event.memory = MemoryKind::kDevice;
    event.address = sample.address;
    event.size = event.requested = SizeOf(sample);
    event.thread = sample.thread;
    event.device = sample.device;
    event.call = memory_call_;
    event.time_ns = Since(sample.time_ns);
    event.sequence = number + 1;
    return event;
  }

  void AddSample(size_t number) {
    const ProfilerSample& sample = trace_.samples[number];
    if (sample.device_type == kCpuDeviceType) {
      ++cpu_samples_;
      return;
    }
    DeviceSamples& device = devices_[sample.device];
    const bool is_free = sample.bytes < 0 && !sample.out_of_memory;
    Event event = EventOf(number, is_free ? EventKind::kFree : EventKind::kAllocate);
    if (sample.out_of_memory) {
      event.call = out_of_memory_call_;
      event.result = kOutOfMemoryResult;
    } else if (!is_free) {
      device.Allocate(event.address, event.size);
    } else if (device.Free(event.address, event.size)) {
      Open(event);
    }
    device.NoteSample(number, sample);
    list_.events.push_back(event);
  }

  void Open(Event event) {
    event.kind = EventKind::kAllocate;
    event.call = opening_call_;
    event.time_ns = event.sequence = 0;
    opening_.push_back(event);
  }

  // Adds the blocks that stand for allocated memory without events.
  void AddUnrecorded() {
    struct Change {
      size_t sample;
      std::vector<Event> events;
    };
    std::vector<Change> changes;
    for (const auto& [number, device] : devices_) {
      Event block;
      block.kind = EventKind::kAllocate;
      block.layer = Layer::kFramework;
      block.memory = MemoryKind::kDevice;
      block.device = number;
      block.address = kUnrecordedAddress + (uint64_t{static_cast<uint16_t>(number)} << 44);
      uint64_t now = 0;
      for (const DeviceSamples::Change& change : device.Unrecorded()) {
        std::vector<Event> events;
        block.call = list_.Call("not_recorded");
        block.time_ns = Since(trace_.samples[change.sample].time_ns);
        if (now != 0) {
          block.kind = EventKind::kFree;
          block.size = block.requested = now;
          events.push_back(block);
        }
        now = change.bytes;
        block.kind = EventKind::kAllocate;
        block.size = block.requested = now;
        if (change.sample == 0) {
          before_[number] = now;
          Open(block);
          continue;
        }
        if (now != 0) events.push_back(block);
        changes.push_back({change.sample, std::move(events)});
      }
    }
    std::ranges::stable_sort(changes, {}, &Change::sample);
    std::vector<Event> events;
    auto change = changes.begin();
    for (const Event& event : list_.events) {
      while (change != changes.end() && change->sample < event.sequence) {
        events.insert(events.end(), change->events.begin(), change->events.end());
        ++change;
      }
      events.push_back(event);
    }
    unrecorded_changes_ = changes.size();
    list_.events = std::move(events);
  }

  // Inserts the iterations between the events, by time.
  void AddSteps() {
    const uint16_t call = list_.Call("ProfilerStep");
    std::vector<Event> events;
    events.reserve(list_.events.size() + trace_.steps.size());
    auto event = list_.events.begin();
    for (const TimelineStep& step : trace_.steps) {
      const uint64_t time_ns = Since(step.time_ns);
      while (event != list_.events.end() && event->time_ns < time_ns) events.push_back(*event++);
      Event mark = MarkEvent{MarkKind::kMoment, list_.texts.size(), 0}.ToEvent();
      mark.layer = Layer::kFramework;
      mark.call = call;
      mark.time_ns = time_ns;
      mark.sequence = 0;
      list_.texts.push_back(step.name);
      events.push_back(mark);
    }
    events.insert(events.end(), event, list_.events.end());
    list_.events = std::move(events);
  }

  void Number() {
    for (size_t i = 0; i < list_.events.size(); ++i) {
      Event& event = list_.events[i];
      if (event.sequence != 0) {
        const ProfilerSample& sample = trace_.samples[event.sequence - 1];
        const bool is_valid = sample.has_reserved && devices_[sample.device].is_believed() &&
                              sample.total_reserved >= sample.total_allocated;
        if (is_valid) list_.reserved[i + 1] = sample.total_reserved;
      }
      event.sequence = i + 1;
    }
  }

  void NoteWhatIsMissing() {
    uint64_t contradictions = 0;
    for (const auto& [number, device] : devices_) contradictions += device.contradictions();
    for (const auto& [number, bytes] : before_) {
      list_.missing.push_back(Concat(bytes, " bytes on device ", number,
                                     " were allocated before the trace and never freed: they are "
                                     "in no event, and shown as one block"));
    }
    if (unrecorded_changes_ != 0) {
      list_.missing.push_back(Concat("the allocator's own total changes without an event in ",
                                     NumberOf(unrecorded_changes_, "place"),
                                     ": the difference to the events is shown as one block"));
    }
    if (cpu_samples_ != 0) {
      list_.missing.push_back(Concat(NumberOf(cpu_samples_, "event"), " of CPU memory left out"));
    }
    if (contradictions != 0) {
      list_.missing.push_back(
          Concat(NumberOf(contradictions, "event"), " contradict the memory that was live before"));
    }
  }

  const ProfilerTrace& trace_;
  const int64_t start_ns_;
  EventList list_;
  uint16_t opening_call_ = 0;
  uint16_t memory_call_ = 0;
  uint16_t out_of_memory_call_ = 0;
  std::map<int16_t, DeviceSamples> devices_;
  std::map<int16_t, uint64_t> before_;
  std::vector<Event> opening_;
  uint64_t cpu_samples_ = 0;
  uint64_t unrecorded_changes_ = 0;
};

}  // namespace

EventList ProfilerEvents(const ProfilerTrace& trace) { return ProfilerEventMaker(trace).Make(); }

}  // namespace vramstow
