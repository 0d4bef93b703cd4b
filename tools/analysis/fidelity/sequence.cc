#include "tools/analysis/fidelity/sequence.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "tools/analysis/accounts/call_stack.h"

namespace vramstow {
namespace {

// Operators that reduce with one kernel: "aten::sum_dim_IntList" is a variant of "sum".
constexpr std::string_view kReductions[] = {
    "sum", "mean", "prod", "nansum", "amax",   "amin",  "max", "min", "norm", "linalg_vector_norm",
    "any", "all",  "std",  "var",    "argmax", "argmin"};

Reduces ReducesIn(const std::vector<CallFrame>& frames, std::string_view operation) {
  const bool names_kernel = std::ranges::any_of(frames, [](const CallFrame& frame) {
    return frame.function.find("gpu_reduce_kernel") != std::string_view::npos;
  });
  if (names_kernel) return Reduces::kKernel;
  for (const std::string_view before :
       {std::string_view("aten::"), std::string_view("structured_")}) {
    if (operation.starts_with(before)) operation.remove_prefix(before.size());
  }
  const bool is_operator = std::ranges::any_of(kReductions, [&](std::string_view name) {
    if (!operation.starts_with(name)) return false;
    return operation.size() == name.size() || operation[name.size()] == '_';
  });
  return is_operator ? Reduces::kOperator : Reduces::kNo;
}

struct StackNote {
  uint32_t site = 0;
  Reduces reduces = Reduces::kNo;
};

// Stores the result of examining each call stack, so that each stack is examined once.
class StackNotes {
 public:
  explicit StackNotes(const EventSource& source) : source_(source), names_(1) {}

  StackNote NoteOf(uint32_t stack) {
    if (stack == 0) return {};
    const auto [known, is_new] = by_stack_.try_emplace(stack);
    if (is_new) {
      const std::vector<CallFrame> frames = source_.Frames(stack);
      const StackWords words = WordsOf(frames);
      const auto [number, added] =
          by_name_.try_emplace(words.site, static_cast<uint32_t>(names_.size()));
      if (added) names_.push_back(words.site);
      known->second = {number->second, ReducesIn(frames, words.made_by)};
      lines_.Add(frames);
    }
    return known->second;
  }
  std::vector<std::string> MoveOutNames() { return std::move(names_); }
  TorchLines MoveOutLines() { return std::move(lines_); }

 private:
  const EventSource& source_;
  absl::flat_hash_map<uint32_t, StackNote> by_stack_;
  std::map<std::string, uint32_t> by_name_;
  std::vector<std::string> names_;
  TorchLines lines_;
};

// The sequence of one device while it is being read.
struct DeviceSequence {
  AllocationSequence sequence;
  uint64_t level = 0;
};

// The sequences of all devices.
class Devices {
 public:
  DeviceSequence& Of(int16_t number) { return devices_[number]; }

  void AddSegment(const Event& event) {
    SegmentChange change{.is_free = false, .bytes = event.size};
    int16_t device = event.device;
    switch (event.kind) {
      case EventKind::kAllocate:
      case EventKind::kMap:
        if (event.kind == EventKind::kAllocate && event.memory != MemoryKind::kDevice) return;
        segments_[event.address] = {device, event.size};
        break;
      case EventKind::kFree:
      case EventKind::kUnmap: {
        const auto known = segments_.find(event.address);
        if (known == segments_.end() && event.kind == EventKind::kFree) return;
        change.is_free = true;
        if (known == segments_.end()) break;
        device = known->second.device;
        if (event.kind == EventKind::kFree) change.bytes = known->second.bytes;
        segments_.erase(known);
        break;
      }
      default:
        return;
    }
    change.is_part = event.kind == EventKind::kMap || event.kind == EventKind::kUnmap;
    AllocationSequence& sequence = devices_[device].sequence;
    change.items_before = sequence.items.size();
    sequence.segments.push_back(change);
  }

  // Returns the sequence with the most items, or null if there is none.
  AllocationSequence* Most() {
    AllocationSequence* most = nullptr;
    for (auto& [number, device] : devices_) {
      if (most == nullptr || device.sequence.items.size() > most->items.size()) {
        most = &device.sequence;
      }
    }
    return most;
  }

 private:
  struct Segment {
    int16_t device = kNoDevice;
    uint64_t bytes = 0;
  };

  std::map<int16_t, DeviceSequence> devices_;
  absl::flat_hash_map<uint64_t, Segment> segments_;  // by address
};

void AddItem(const Event& event, bool is_opening, StackNote note, DeviceSequence* device) {
  const bool is_free = event.kind == EventKind::kFree;
  // Uses the requested size, because a snapshot has the rounded size only for blocks that are still
  // live.
  const uint64_t bytes = event.requested == 0 ? event.size : event.requested;
  device->level = is_free ? device->level - std::min(device->level, bytes) : device->level + bytes;
  AllocationSequence& sequence = device->sequence;
  if (is_opening) {
    sequence.level_before = device->level;
    return;
  }
  sequence.items.push_back({is_free, bytes});
  sequence.levels.push_back(device->level);
  sequence.sites.push_back(note.site);
  sequence.reduces.push_back(note.reduces);
}

}  // namespace

AllocationSequence SequenceOf(EventSource* source) {
  StackNotes notes(*source);
  Devices devices;
  Event event;
  while (source->Next(&event)) {
    if (event.result != 0) continue;
    // An event of the pool layer is a request of a framework's cache to the driver.
    if (event.layer == Layer::kPool) {
      devices.AddSegment(event);
      continue;
    }
    const bool is_free = event.kind == EventKind::kFree;
    if (event.layer != Layer::kFramework || (!is_free && event.kind != EventKind::kAllocate)) {
      continue;
    }
    AddItem(event, source->OpeningCall() == event.call,
            is_free ? StackNote() : notes.NoteOf(source->Stack()), &devices.Of(event.device));
  }
  AllocationSequence* most = devices.Most();
  if (most == nullptr) return {};
  most->site_names = notes.MoveOutNames();
  most->torch_lines = notes.MoveOutLines();
  return std::move(*most);
}

uint64_t ReservedMemory::Count() const {
  uint64_t count = 0;
  for (const auto& [size, number] : segments) count += number;
  return count;
}

ReservedMemory ReservedWithin(const AllocationSequence& sequence, uint64_t begin, uint64_t end) {
  ReservedMemory reserved;
  uint64_t level = 0;
  for (const SegmentChange& change : sequence.segments) {
    if (change.items_before >= end && end < sequence.items.size()) break;
    if (change.items_before >= begin) reserved.peak_bytes = std::max(reserved.peak_bytes, level);
    level = change.is_free ? level - std::min(level, change.bytes) : level + change.bytes;
    reserved.has_parts |= change.is_part;
    uint64_t& number = reserved.segments[change.bytes];
    if (!change.is_free) {
      ++number;
    } else if (number > 0) {
      --number;
    }
    if (number == 0) reserved.segments.erase(change.bytes);
  }
  reserved.peak_bytes = std::max(reserved.peak_bytes, level);
  reserved.is_known = !sequence.segments.empty();
  return reserved;
}

}  // namespace vramstow
