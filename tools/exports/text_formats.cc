#include "tools/exports/text_formats.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/typed_event.h"
#include "tools/base/words.h"
#include "tools/json/json_writer.h"

namespace vramstow {
namespace {

void Member(const char* key, const auto& value, JsonWriter* json) {
  json->Key(key);
  json->Value(value);
}

double Microseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

// True for events that RMM would have logged: device memory that the application itself requested.
bool IsBlock(const Event& event) {
  return event.layer != Layer::kPool &&
         (event.memory == MemoryKind::kDevice || event.memory == MemoryKind::kDevicePitched ||
          event.memory == MemoryKind::kDeviceStream);
}

// Writes the owners of the peak, one sample each.
void WriteProfile(const Detail& detail, JsonWriter* json) {
  uint64_t total = 0;
  for (const SiteDetail& site : detail.sites) total += site.at_peak.bytes;
  json->BeginObject();
  Member("type", "sampled", json);
  Member("name", "allocated at the peak", json);
  Member("unit", "bytes", json);
  Member("startValue", 0, json);
  Member("endValue", total, json);
  json->Key("samples");
  json->BeginArray();
  for (const SiteDetail& site : detail.sites) {
    if (site.at_peak.bytes == 0) continue;
    json->BeginArray();
    for (const uint32_t frame : site.frames) json->Value(frame);
    json->EndArray();
  }
  json->EndArray();
  json->Key("weights");
  json->BeginArray();
  for (const SiteDetail& site : detail.sites) {
    if (site.at_peak.bytes != 0) json->Value(site.at_peak.bytes);
  }
  json->EndArray();
  json->EndObject();
}

void WriteLevels(const LevelStep& step, bool with_reserved, JsonWriter* json) {
  json->BeginObject();
  Member("ph", "C", json);
  Member("name", "device memory", json);
  Member("pid", 1, json);
  Member("ts", Microseconds(step.time_ns), json);
  json->Key("args");
  json->BeginObject();
  Member("allocated", step.allocated, json);
  Member("requested", step.requested, json);
  if (with_reserved) Member("reserved", step.reserved, json);
  json->EndObject();
  json->EndObject();
}

void WriteMark(const MarkDetail& mark, JsonWriter* json) {
  const char* phase = mark.kind == MarkDetail::Kind::kBegin ? "B"
                      : mark.kind == MarkDetail::Kind::kEnd ? "E"
                                                            : "i";
  json->BeginObject();
  Member("ph", phase, json);
  Member("name", mark.text, json);
  Member("pid", 1, json);
  Member("tid", 1, json);
  Member("ts", Microseconds(mark.time_ns), json);
  json->EndObject();
}

}  // namespace

std::vector<LevelStep> LevelsOverTime(const Facts& facts, const Detail& detail) {
  const uint64_t folded_until_ns = facts.report.folded_until_ns;
  if (folded_until_ns == 0) return detail.levels;
  std::vector<LevelStep> levels;
  for (size_t i = 0; i < facts.timeline.points.size(); ++i) {
    const TimelinePoint& point = facts.timeline.points[i];
    const uint64_t begin_ns = i * facts.timeline.interval_ns;
    if (begin_ns > folded_until_ns) break;
    levels.push_back({begin_ns, point.allocated_highest, point.reserved_highest,
                      point.requested_last, point.allocated_last});
  }
  const auto later =
      std::ranges::upper_bound(detail.levels, folded_until_ns, {}, &LevelStep::time_ns);
  levels.insert(levels.end(), later, detail.levels.end());
  return levels;
}

std::string FoldedStacks(const Detail& detail) {
  std::string text;
  for (const SiteDetail& site : detail.sites) {
    if (site.at_peak.bytes == 0) continue;
    for (size_t i = 0; i < site.frames.size(); ++i) {
      // A semicolon separates frames and a line end separates stacks, so both are replaced in
      // frames.
      absl::StrAppend(&text, i == 0 ? "" : ";",
                      Printable(absl::StrReplaceAll(detail.frames[site.frames[i]],
                                                    {{";", ","}, {"\n", " "}, {"\r", " "}})));
    }
    absl::StrAppend(&text, " ", site.at_peak.bytes, "\n");
  }
  return text;
}

std::string Speedscope(const Detail& detail, const std::string& name) {
  JsonWriter json;
  json.BeginObject();
  Member("$schema", "https://www.speedscope.app/file-format-schema.json", &json);
  Member("exporter", "vramstow", &json);
  Member("name", name, &json);
  json.Key("shared");
  json.BeginObject();
  json.Key("frames");
  json.BeginArray();
  for (const std::string& frame : detail.frames) {
    json.BeginObject();
    Member("name", frame, &json);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  json.Key("profiles");
  json.BeginArray();
  WriteProfile(detail, &json);
  json.EndArray();
  json.EndObject();
  return json.Take() + "\n";
}

std::string ChromeTrace(const Facts& facts, const Detail& detail) {
  JsonWriter json;
  json.BeginObject();
  json.Key("traceEvents");
  json.BeginArray();
  for (const LevelStep& step : LevelsOverTime(facts, detail)) {
    WriteLevels(step, facts.reserved_known, &json);
  }
  for (const MarkDetail& mark : detail.marks) WriteMark(mark, &json);
  json.EndArray();
  Member("displayTimeUnit", "ms", &json);
  json.EndObject();
  return json.Take() + "\n";
}

void RmmWriter::Append(const Event& event, std::string* text) {
  const char* action = "allocate";
  uint64_t address = event.address;
  uint64_t size = event.requested != 0 ? event.requested : event.size;
  if (event.kind == EventKind::kRefused) {
    const auto freed = std::ranges::find(freed_, RefusedSequence(event), &Freed::sequence);
    if (freed == freed_.end() || freed->sequence == 0 || sizes_.contains(freed->address)) return;
    address = freed->address;
    size = sizes_[address] = freed->size;
  } else if (!IsBlock(event)) {
    return;
  } else if (event.kind == EventKind::kAllocate) {
    if (event.result == 0) sizes_[address] = size;
    if (event.result != 0) action = "allocate failure";
  } else if (event.kind == EventKind::kFree) {
    action = "free";
    const auto known = sizes_.find(address);
    // The log must not contain a free of a block whose allocation it does not contain.
    if (known == sizes_.end()) return;
    size = known->second;
    sizes_.erase(known);
    freed_[next_freed_++ % kRemembered] = {event.sequence, address, size};
  } else {
    return;
  }
  const uint64_t microseconds = event.time_ns / 1000;
  const uint64_t seconds = microseconds / 1000000;
  const uint64_t stream = event.stream == kUnknownStream ? 0 : event.stream;
  absl::StrAppendFormat(text, "%d,%02d:%02d:%02d:%06d,%s,0x%x,%d,0x%x\n", event.thread,
                        seconds / 3600 % 24, seconds / 60 % 60, seconds % 60,
                        microseconds % 1000000, action, address, size, stream);
}

}  // namespace vramstow
