#include "tools/formats/profiler_trace.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/driver_result.h"
#include "base/typed_event.h"
#include "tools/formats/text.h"
#include "tools/formats/trace_events.h"

namespace vramstow {
namespace {

int16_t SmallNumber(const JsonNumber& number) {
  return static_cast<int16_t>(std::clamp<int64_t>(number.AsSigned(), -1, 32'767));
}

class TraceVisitor : public TraceEventsVisitor {
 public:
  explicit TraceVisitor(ProfilerTrace* trace) : trace_(trace) {}

  void Number(const JsonNumber& number) override {
    if (!in_list()) return Fact(number);
    if (within() == 1) {
      if (key(depth()) == "ts") sample_.time_ns = number.Thousandths();
      if (key(depth()) == "tid") sample_.thread = static_cast<uint32_t>(number.AsUnsigned());
    } else if (within() == 2 && key(depth() - 1) == "args") {
      Argument(key(depth()), number);
    }
  }

  void Text(std::string_view text) override {
    if (!in_list()) {
      if (depth() == 3 && key(1) == "deviceProperties" && key(3) == "name") device_name_ = text;
      return;
    }
    if (within() == 1 && key(depth()) == "cat") is_on_device_ = text.starts_with("gpu_");
    if (within() != 1 || key(depth()) != "name") return;
    if (text.starts_with("ProfilerStep#")) step_ = text;
    if (text == "[memory]") is_memory_ = true;
    if (text == "[OutOfMemory]") is_memory_ = sample_.out_of_memory = true;
  }

 protected:
  void EventBegins() override {
    sample_ = {};
    is_memory_ = false;
    has_bytes_ = false;
    has_address_ = false;
    is_on_device_ = false;
    step_.clear();
    ++trace_->all_events;
  }

  void EventEnds() override {
    // The profiler repeats each step for the card, with the card's times.
    if (!step_.empty() && !is_on_device_) trace_->steps.push_back({sample_.time_ns, step_});
    if (!is_memory_ || !has_bytes_) return;
    trace_->samples.push_back(sample_);
    trace_->lacks_addresses |=
        !has_address_ && !sample_.out_of_memory && sample_.device_type != kCpuDeviceType;
  }

 private:
  void Argument(std::string_view name, const JsonNumber& number) {
    if (name == "Addr") {
      sample_.address = number.AsUnsigned();
      has_address_ = true;
    } else if (name == "Bytes") {
      sample_.bytes = number.AsSigned();
      has_bytes_ = true;
    } else if (name == "Device Type") {
      sample_.device_type = SmallNumber(number);
    } else if (name == "Device Id") {
      sample_.device = SmallNumber(number);
    } else if (name == "Total Allocated") {
      sample_.total_allocated = number.AsUnsigned();
      sample_.has_totals = true;
    } else if (name == "Total Reserved") {
      sample_.total_reserved = number.AsUnsigned();
    }
  }

  void Fact(const JsonNumber& number) {
    if (depth() == 2 && key(1) == "distributedInfo" && key(2) == "rank") {
      trace_->facts["process.rank"] = std::to_string(number.AsSigned());
    }
    if (depth() != 3 || key(1) != "deviceProperties") return;
    if (key(3) == "id") device_ = number.AsUnsigned();
    if (key(3) == "totalGlobalMem") {
      const std::string prefix = Concat("device.", device_, ".");
      trace_->facts[prefix + "total_bytes"] = std::to_string(number.AsUnsigned());
      if (!device_name_.empty()) trace_->facts[prefix + "name"] = device_name_;
    }
  }

  ProfilerTrace* trace_;
  ProfilerSample sample_;
  bool is_memory_ = false;
  bool has_bytes_ = false;
  bool has_address_ = false;
  bool is_on_device_ = false;
  std::string step_;
  uint64_t device_ = 0;
  std::string device_name_;
};

// By time, each name once.
void SortSteps(std::vector<TimelineStep>* steps) {
  std::ranges::stable_sort(*steps, {}, &TimelineStep::time_ns);
  absl::flat_hash_set<std::string> seen;
  std::erase_if(*steps, [&seen](const TimelineStep& one) { return !seen.insert(one.name).second; });
}

}  // namespace

absl::StatusOr<ProfilerTrace> ReadProfilerTrace(const Input& input) {
  ProfilerTrace trace;
  TraceVisitor visitor(&trace);
  const absl::Status walked = WalkJson(input, &visitor);
  const bool readable = walked.ok() || walked.code() == absl::StatusCode::kDataLoss;
  if (!readable || (!walked.ok() && trace.samples.empty())) {
    return absl::Status(walked.code(), Concat(input.path(), ": ", std::string(walked.message())));
  }
  if (trace.all_events == 0) {
    return absl::InvalidArgumentError(Concat(input.path(), " is ", input.sniffed().what,
                                             " without trace events: no profiler trace"));
  }
  if (trace.samples.empty()) {
    return absl::InvalidArgumentError(Concat(input.path(), " is a trace of ",
                                             NumberOf(trace.all_events, "event"),
                                             ", none of memory: record it with "
                                             "torch.profiler.profile(profile_memory=True)"));
  }
  if (!walked.ok()) {
    trace.complete = false;
    trace.missing.emplace_back(walked.message());
  }
  std::ranges::stable_sort(trace.samples, {}, &ProfilerSample::time_ns);
  SortSteps(&trace.steps);
  trace.missing.emplace_back("no call stacks and no streams");
  trace.missing.emplace_back("no requested sizes: the profiler tells sizes after rounding");
  return trace;
}

namespace {

// The state of one device while its samples are turned into events.
struct DeviceSamples {
  absl::flat_hash_set<uint64_t> live;
  absl::flat_hash_set<uint64_t> seen;
  const ProfilerSample* first = nullptr;  // that tells totals
  uint64_t opened_bytes = 0;
};

Event EventOf(const ProfilerSample& sample, EventKind kind) {
  Event event;
  event.kind = kind;
  event.layer = Layer::kFramework;
  event.memory = MemoryKind::kDevice;
  event.address = sample.address;
  event.size = static_cast<uint64_t>(sample.bytes < 0 ? -(sample.bytes + 1) : sample.bytes) +
               (sample.bytes < 0 ? 1 : 0);
  event.requested = event.size;
  event.thread = sample.thread;
  event.device = sample.device;
  return event;
}

// Puts the iterations between the events, by time.
void AddSteps(const ProfilerTrace& trace, int64_t start_ns, EventList* list) {
  const uint16_t call = list->Call("ProfilerStep");
  std::vector<Event> events;
  events.reserve(list->events.size() + trace.steps.size());
  auto event = list->events.begin();
  for (const TimelineStep& step : trace.steps) {
    const int64_t since = std::max<int64_t>(step.time_ns, start_ns);
    const uint64_t time_ns = static_cast<uint64_t>(since) - static_cast<uint64_t>(start_ns);
    while (event != list->events.end() && event->time_ns < time_ns) events.push_back(*event++);
    Event mark = MarkEvent{MarkKind::kMoment, list->texts.size(), 0}.ToEvent();
    mark.layer = Layer::kFramework;
    mark.call = call;
    mark.time_ns = time_ns;
    list->texts.push_back(step.name);
    events.push_back(mark);
  }
  events.insert(events.end(), event, list->events.end());
  list->events = std::move(events);
}

}  // namespace

MemoryTimeline ProfilerCurve(const ProfilerTrace& trace) {
  MemoryTimeline curve;
  curve.complete = trace.complete;
  curve.missing = trace.missing;
  curve.missing.emplace_back("no addresses, so that only the sum of all blocks is known");
  curve.steps = trace.steps;
  int64_t level = 0;
  int64_t lowest = 0;
  uint64_t cpu_samples = 0;
  uint64_t refused = 0;
  for (const ProfilerSample& sample : trace.samples) {
    cpu_samples += sample.device_type == kCpuDeviceType;
    refused += sample.out_of_memory;
    if (sample.device_type == kCpuDeviceType || sample.out_of_memory) continue;
    // Only a hostile file has sizes that do not add up.
    if (__builtin_add_overflow(level, sample.bytes, &level)) continue;
    lowest = std::min(lowest, level);
    curve.rows.push_back(
        {.time_ns = std::max<int64_t>(sample.time_ns, 0),
         .bytes = sample.bytes,
         .action = sample.bytes < 0 ? TimelineAction::kDestroy : TimelineAction::kCreate,
         .category = kTimelineCategories - 1});
  }
  if (lowest < 0 && lowest != INT64_MIN) {
    curve.rows.insert(curve.rows.begin(), {.time_ns = -1,
                                           .bytes = -lowest,
                                           .action = TimelineAction::kPreexisting,
                                           .category = kTimelineCategories - 1});
  }
  if (cpu_samples != 0) {
    curve.missing.push_back(Concat(NumberOf(cpu_samples, "event"), " of CPU memory left out"));
  }
  if (refused != 0) {
    curve.missing.push_back(Concat(NumberOf(refused, "request"), " failed, and left out here"));
  }
  FillLevels(&curve);
  return curve;
}

EventList ProfilerEvents(const ProfilerTrace& trace) {
  EventList list;
  list.facts = trace.facts;
  list.missing = trace.missing;
  list.complete = trace.complete;
  const uint16_t opening_call = list.Call("window_start");
  const uint16_t memory_call = list.Call("[memory]");
  const uint16_t out_of_memory_call = list.Call("[OutOfMemory]");
  const int64_t start_ns = trace.samples.empty() ? 0 : trace.samples.front().time_ns;
  absl::flat_hash_map<int16_t, DeviceSamples> devices;
  std::vector<Event> opening;
  uint64_t cpu_samples = 0;
  uint64_t contradictions = 0;
  for (const ProfilerSample& sample : trace.samples) {
    if (sample.device_type == kCpuDeviceType) {
      ++cpu_samples;
      continue;
    }
    DeviceSamples& device = devices[sample.device];
    if (device.first == nullptr && sample.has_totals && !sample.out_of_memory) {
      device.first = &sample;
    }
    const bool is_free = sample.bytes < 0 && !sample.out_of_memory;
    Event event = EventOf(sample, is_free ? EventKind::kFree : EventKind::kAllocate);
    event.call = memory_call;
    event.time_ns = static_cast<uint64_t>(sample.time_ns) - static_cast<uint64_t>(start_ns);
    if (sample.out_of_memory) {
      event.call = out_of_memory_call;
      event.result = kOutOfMemoryResult;
    } else if (!is_free) {
      contradictions += !device.live.insert(sample.address).second;
      device.seen.insert(sample.address);
    } else if (device.live.erase(sample.address) == 0) {
      if (device.seen.insert(sample.address).second) {
        Event born = EventOf(sample, EventKind::kAllocate);
        born.call = opening_call;
        device.opened_bytes += born.size;
        opening.push_back(born);
      } else {
        ++contradictions;
      }
    }
    list.events.push_back(event);
  }
  for (const auto& [number, device] : devices) {
    if (device.first == nullptr) continue;
    const auto change = static_cast<uint64_t>(device.first->bytes);
    const uint64_t before = device.first->total_allocated - change;
    if (before > device.opened_bytes) {
      list.missing.push_back(
          Concat(before - device.opened_bytes, " bytes on device ", number,
                 " were allocated before the trace and never freed: they are in no event"));
    }
  }
  if (cpu_samples != 0) {
    list.missing.push_back(Concat(NumberOf(cpu_samples, "event"), " of CPU memory left out"));
  }
  if (contradictions != 0) {
    list.missing.push_back(
        Concat(NumberOf(contradictions, "event"), " contradict what was live before"));
  }
  AddSteps(trace, start_ns, &list);
  list.events.insert(list.events.begin(), opening.begin(), opening.end());
  for (size_t i = 0; i < list.events.size(); ++i) list.events[i].sequence = i + 1;
  return list;
}

}  // namespace vramstow
