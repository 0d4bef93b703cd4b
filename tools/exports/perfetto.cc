#include "tools/exports/perfetto.h"

#include <algorithm>
#include <string_view>

#include "tools/exports/proto_writer.h"
#include "tools/exports/text_formats.h"

namespace vramstow {
namespace {

// Field numbers of trace.proto, trace_packet.proto, track_descriptor.proto,
// counter_descriptor.proto and track_event.proto.
constexpr uint32_t kTracePacket = 1;
namespace packet {
constexpr uint32_t kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kSequenceFlags = 13,
                   kTrackDescriptor = 60;
constexpr uint64_t kStateCleared = 1;
}  // namespace packet
namespace track {
constexpr uint32_t kUuid = 1, kName = 2, kCounter = 8;
}
namespace counter {
constexpr uint32_t kUnit = 3;
constexpr uint64_t kSizeBytes = 3;
}  // namespace counter
namespace event {
constexpr uint32_t kType = 9, kTrackUuid = 11, kName = 23, kCounterValue = 30;
constexpr uint64_t kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4;
}  // namespace event

enum Track : uint64_t { kAllocated = 1, kRequested = 2, kReserved = 3, kMarks = 4 };

class TraceWriter {
 public:
  void Describe(Track uuid, std::string_view name) {
    ProtoWriter descriptor;
    descriptor.Number(track::kUuid, uuid).Text(track::kName, name);
    if (uuid != kMarks) {
      ProtoWriter unit;
      descriptor.Message(track::kCounter, unit.Number(counter::kUnit, counter::kSizeBytes));
    }
    ProtoWriter out;
    out.Number(packet::kSequenceId, 1);
    if (trace_.bytes().empty()) out.Number(packet::kSequenceFlags, packet::kStateCleared);
    trace_.Message(kTracePacket, out.Message(packet::kTrackDescriptor, descriptor));
  }
  void Count(Track uuid, uint64_t time_ns, uint64_t value) {
    ProtoWriter body;
    body.Number(event::kType, event::kCounter)
        .Number(event::kTrackUuid, uuid)
        .Number(event::kCounterValue, value);
    Add(time_ns, body);
  }
  void Mark(const MarkDetail& mark) {
    ProtoWriter body;
    const bool ends = mark.kind == MarkDetail::Kind::kEnd;
    body.Number(event::kType, ends                                    ? event::kSliceEnd
                              : mark.kind == MarkDetail::Kind::kBegin ? event::kSliceBegin
                                                                      : event::kInstant)
        .Number(event::kTrackUuid, kMarks);
    if (!ends) body.Text(event::kName, mark.text);
    Add(mark.time_ns, body);
  }
  std::string Take() { return trace_.Take(); }

 private:
  void Add(uint64_t time_ns, const ProtoWriter& body) {
    ProtoWriter out;
    out.Number(packet::kTimestamp, time_ns)
        .Number(packet::kSequenceId, 1)
        .Message(packet::kTrackEvent, body);
    trace_.Message(kTracePacket, out);
  }

  ProtoWriter trace_;
};

}  // namespace

std::string PerfettoTrace(const Facts& facts, const Detail& detail) {
  TraceWriter trace;
  trace.Describe(kAllocated, "allocated");
  trace.Describe(kRequested, "requested");
  if (facts.reserved_known) trace.Describe(kReserved, "reserved");
  if (!detail.marks.empty()) trace.Describe(kMarks, "marks");
  // A counter is written only if its level has changed.
  uint64_t last[4] = {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}};
  const auto count = [&](Track uuid, const LevelStep& step, uint64_t value) {
    if (last[uuid] == value) return;
    last[uuid] = value;
    trace.Count(uuid, step.time_ns, value);
  };
  for (const LevelStep& step : LevelsOverTime(facts, detail)) {
    count(kAllocated, step, step.allocated);
    count(kRequested, step, step.requested);
    if (facts.reserved_known) count(kReserved, step, step.reserved);
  }
  for (const MarkDetail& mark : detail.marks) trace.Mark(mark);
  return trace.Take();
}

}  // namespace vramstow
