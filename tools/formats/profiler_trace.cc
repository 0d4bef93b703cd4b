#include "tools/formats/profiler_trace.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "tools/formats/text_helpers.h"
#include "tools/formats/trace_events.h"

namespace vramstow {
namespace {

constexpr size_t kMaxDevices = 1024;
constexpr size_t kLongestDeviceName = 256;
constexpr size_t kLongestStepName = 256;

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
      if (depth() == 3 && key(1) == "deviceProperties" && key(3) == "name") {
        device_name_ = text.substr(0, kLongestDeviceName);
      }
      return;
    }
    if (within() == 1 && key(depth()) == "cat") is_on_device_ = text.starts_with("gpu_");
    if (within() != 1 || key(depth()) != "name") return;
    if (text.starts_with("ProfilerStep#")) step_ = text.substr(0, kLongestStepName);
    if (text == "[memory]") is_memory_ = true;
    if (text == "[OutOfMemory]") is_memory_ = sample_.out_of_memory = true;
  }

 protected:
  void OutsideBegins() override {
    if (depth() != 3 || key(1) != "deviceProperties") return;
    device_ = 0;
    device_name_.clear();
    ++devices_;
  }

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
    // The profiler repeats each step for the GPU, with the times of the GPU; these repetitions are
    // skipped.
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
      sample_.has_allocated = true;
    } else if (name == "Total Reserved") {
      sample_.total_reserved = number.AsUnsigned();
      sample_.has_reserved = true;
    }
  }

  void Fact(const JsonNumber& number) {
    if (depth() == 2 && key(1) == "distributedInfo" && key(2) == "rank") {
      trace_->facts["process.rank"] = std::to_string(number.AsSigned());
    }
    if (depth() != 3 || key(1) != "deviceProperties" || devices_ > kMaxDevices) return;
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
  size_t devices_ = 0;
};

// Sorts the steps by time, and removes repeated names.
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
                                             " without trace events: not a profiler trace"));
  }
  if (trace.samples.empty()) {
    return absl::InvalidArgumentError(Concat(
        input.path(), " is a trace of ", NumberOf(trace.all_events, "event"),
        ", but none about memory: record it with torch.profiler.profile(profile_memory=True)"));
  }
  if (!walked.ok()) {
    trace.complete = false;
    trace.missing.emplace_back(walked.message());
  }
  std::ranges::stable_sort(trace.samples, {}, &ProfilerSample::time_ns);
  SortSteps(&trace.steps);
  trace.missing.emplace_back("no call stacks and no streams");
  trace.missing.emplace_back("no requested sizes: the profiler records sizes after rounding");
  return trace;
}

MemoryTimeline ProfilerCurve(const ProfilerTrace& trace) {
  MemoryTimeline curve;
  curve.complete = trace.complete;
  curve.missing = trace.missing;
  curve.missing.emplace_back("no addresses, so only the sum of all blocks is known");
  curve.steps = trace.steps;
  int64_t level = 0;
  int64_t lowest = 0;
  uint64_t cpu_samples = 0;
  uint64_t refused = 0;
  for (const ProfilerSample& sample : trace.samples) {
    cpu_samples += sample.device_type == kCpuDeviceType;
    refused += sample.out_of_memory;
    if (sample.device_type == kCpuDeviceType || sample.out_of_memory) continue;
    // This sum can overflow only if the file was made to do harm.
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
    curve.missing.push_back(Concat(NumberOf(refused, "request"), " failed, and ",
                                   refused == 1 ? "is" : "are", " left out"));
  }
  FillLevels(&curve);
  return curve;
}

}  // namespace vramstow
