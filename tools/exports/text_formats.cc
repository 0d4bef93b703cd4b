#include "tools/exports/text_formats.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace vramstow {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// What RMM would have logged: memory of devices that the application itself asked for.
bool IsBlock(const Event& event) {
  return event.layer != Layer::kPool &&
         (event.memory == MemoryKind::kDevice || event.memory == MemoryKind::kDevicePitched ||
          event.memory == MemoryKind::kDeviceStream);
}

}  // namespace

std::string FoldedStacks(const Detail& detail) {
  std::string text;
  for (const SiteDetail& site : detail.sites) {
    if (site.at_peak.bytes == 0) continue;
    for (size_t i = 0; i < site.frames.size(); ++i) {
      // A semicolon parts frames, a line end stacks.
      absl::StrAppend(&text, i == 0 ? "" : ";",
                      absl::StrReplaceAll(detail.frames[site.frames[i]],
                                          {{";", ","}, {"\n", " "}, {"\r", " "}}));
    }
    absl::StrAppend(&text, " ", site.at_peak.bytes, "\n");
  }
  return text;
}

std::string Speedscope(const Detail& detail, const std::string& name) {
  Json frames = Json::array();
  for (const std::string& frame : detail.frames) frames.push_back({{"name", frame}});
  Json samples = Json::array();
  Json weights = Json::array();
  uint64_t total = 0;
  for (const SiteDetail& site : detail.sites) {
    if (site.at_peak.bytes == 0) continue;
    samples.push_back(site.frames);
    weights.push_back(site.at_peak.bytes);
    total += site.at_peak.bytes;
  }
  return Dump({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
               {"exporter", "vramstow"},
               {"name", name},
               {"shared", {{"frames", std::move(frames)}}},
               {"profiles", Json::array({{{"type", "sampled"},
                                          {"name", "allocated at the peak"},
                                          {"unit", "bytes"},
                                          {"startValue", 0},
                                          {"endValue", total},
                                          {"samples", std::move(samples)},
                                          {"weights", std::move(weights)}}})}});
}

std::string ChromeTrace(const Facts& facts, const Detail& detail) {
  Json events = Json::array();
  const auto microseconds = [](uint64_t nanoseconds) {
    return static_cast<double>(nanoseconds) / 1000;
  };
  for (const LevelStep& step : detail.levels) {
    Json levels = {{"allocated", step.allocated}, {"requested", step.requested}};
    if (facts.reserved_known) levels["reserved"] = step.reserved;
    events.push_back({{"ph", "C"},
                      {"name", "device memory"},
                      {"pid", 1},
                      {"ts", microseconds(step.time_ns)},
                      {"args", std::move(levels)}});
  }
  for (const MarkDetail& mark : detail.marks) {
    const char* phase = mark.kind == MarkDetail::Kind::kBegin ? "B"
                        : mark.kind == MarkDetail::Kind::kEnd ? "E"
                                                              : "i";
    events.push_back({{"ph", phase},
                      {"name", mark.text},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", microseconds(mark.time_ns)}});
  }
  return Dump({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}});
}

void RmmWriter::Append(const Event& event, std::string* text) {
  if (!IsBlock(event)) return;
  const char* action = nullptr;
  uint64_t size = event.requested != 0 ? event.requested : event.size;
  if (event.kind == EventKind::kAllocate) {
    action = event.result == 0 ? "allocate" : "allocate failure";
    if (event.result == 0) sizes_[event.address] = size;
  } else if (event.kind == EventKind::kFree) {
    action = "free";
    const auto known = sizes_.find(event.address);
    // The log has no frees of what it did not see.
    if (known == sizes_.end()) return;
    size = known->second;
    sizes_.erase(known);
  } else {
    return;
  }
  const uint64_t microseconds = event.time_ns / 1000;
  const uint64_t seconds = microseconds / 1000000;
  const uint64_t stream = event.stream == kUnknownStream ? 0 : event.stream;
  absl::StrAppendFormat(text, "%d,%02d:%02d:%02d:%06d,%s,0x%x,%d,0x%x\n", event.thread,
                        seconds / 3600 % 24, seconds / 60 % 60, seconds % 60,
                        microseconds % 1000000, action, event.address, size, stream);
}

}  // namespace vramstow
