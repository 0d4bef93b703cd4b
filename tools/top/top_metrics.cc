#include "tools/top/top_metrics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/base/words.h"

namespace vramstow {

struct TopMetrics::Family {
  const char* name;
  const char* unit;
  const char* help;
  bool is_counter;
  bool is_of_node;
  uint64_t Device::*value;
};

namespace {

// Returns the text in quotes, as the value of a label must be written.
std::string QuotedLabel(const std::string& text) {
  return absl::StrCat(
      "\"", absl::StrReplaceAll(Printable(text), {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", " "}}),
      "\"");
}

std::string UuidOf(const Facts& facts, int device) {
  const auto fact = facts.trace_metadata.find(absl::StrCat("device.", device, ".uuid"));
  return fact == facts.trace_metadata.end() ? absl::StrCat("device ", device) : fact->second;
}

// Returns what tells a trace from all others, also from one that has its name later.
std::string TraceOf(const TopProcess& process) {
  const auto start = process.facts.trace_metadata.find("process.start_time");
  return absl::StrCat(process.file, "\n",
                      start == process.facts.trace_metadata.end() ? "" : start->second);
}

struct Head {
  std::string name;
  const char* unit = "";
  const char* help = "";
  bool is_counter = false;  // otherwise it is a gauge
  bool is_open = false;     // in OpenMetrics, otherwise in Prometheus's older format
};

void AddHead(const Head& head, std::string* text) {
  // The name of a counter's family ends in "_total" in Prometheus's older format, but not in
  // OpenMetrics.
  const std::string family =
      absl::StrCat("vramstow_", head.name, head.is_counter && !head.is_open ? "_total" : "");
  absl::StrAppend(text, "# HELP ", family, " ", head.help, ".\n# TYPE ", family,
                  head.is_counter ? " counter\n" : " gauge\n");
  if (head.is_open && *head.unit != '\0') {
    absl::StrAppend(text, "# UNIT ", family, " ", head.unit, "\n");
  }
}

}  // namespace

void TopMetrics::Take(const std::vector<TopProcess>& processes) {
  infos_.clear();
  devices_.clear();
  // The sums still list a GPU when no process uses it any more.
  for (auto& [uuid, card] : cards_) card.allocated = card.reserved = card.out_of_memory = 0;
  for (const TopProcess& process : processes) {
    const std::string rank = process.rank.has_value() ? absl::StrCat(*process.rank) : "";
    const std::string who = absl::StrCat("pid=\"", process.process, "\",rank=\"", rank, "\"");
    if (process.state == TopState::kRuns) {
      infos_.push_back(absl::StrCat(who, ",program=", QuotedLabel(process.program)));
    }
    const std::string trace = TraceOf(process);
    CountByCard counts;
    for (const DeviceFacts& device : process.facts.devices) {
      const std::string uuid = UuidOf(process.facts, device.device);
      counts[uuid] += device.out_of_memory;
      Device& card = cards_[uuid];
      card.labels = absl::StrCat("uuid=", QuotedLabel(uuid), ",name=", QuotedLabel(device.name));
      card.total = device.total_bytes.value_or(0);
      if (process.state != TopState::kRuns) continue;
      devices_.push_back({.labels = absl::StrCat("device=\"", device.device, "\",", who),
                          .allocated = device.end_bytes,
                          .reserved = device.end_reserved_bytes,
                          .peak_allocated = device.peak_bytes,
                          .peak_reserved = device.peak_reserved_bytes,
                          .total = device.total_bytes.value_or(0),
                          .out_of_memory = device.out_of_memory});
      card.allocated += device.end_bytes;
      card.reserved += device.end_reserved_bytes;
    }
    for (const auto& [uuid, count] : counts) {
      // Most traces have no failure, and need no entry.
      if (count == 0) continue;
      uint64_t& highest = counts_[trace][uuid];
      highest = std::max(highest, count);
    }
  }
  for (const auto& [trace, by_card] : counts_) {
    for (const auto& [uuid, count] : by_card) cards_[uuid].out_of_memory += count;
  }
}

void TopMetrics::AddFamily(const Family& family, bool is_open, std::string* text) const {
  const std::string name = absl::StrCat(family.is_of_node ? "node_" : "", family.name);
  AddHead({.name = name,
           .unit = family.unit,
           .help = family.help,
           .is_counter = family.is_counter,
           .is_open = is_open},
          text);
  const auto add = [&](const Device& device) {
    absl::StrAppend(text, "vramstow_", name, family.is_counter ? "_total{" : "{", device.labels,
                    "} ", device.*family.value, "\n");
  };
  if (family.is_of_node) {
    for (const auto& [uuid, card] : cards_) add(card);
  } else {
    for (const Device& device : devices_) add(device);
  }
}

std::string TopMetrics::Text(bool is_open) const {
  static constexpr Family kFamilies[] = {
      {"allocated_bytes", "bytes", "Bytes in live blocks, after rounding", false, false,
       &Device::allocated},
      {"reserved_bytes", "bytes", "Device memory that the process holds", false, false,
       &Device::reserved},
      {"peak_allocated_bytes", "bytes", "The highest value of allocated so far", false, false,
       &Device::peak_allocated},
      {"peak_reserved_bytes", "bytes", "The highest value of reserved so far", false, false,
       &Device::peak_reserved},
      {"device_bytes", "bytes", "Memory of the whole device", false, false, &Device::total},
      {"out_of_memory", "", "Allocations that failed because there was not enough memory", true,
       false, &Device::out_of_memory},
      {"allocated_bytes", "bytes", "Bytes in live blocks of all processes", false, true,
       &Device::allocated},
      {"reserved_bytes", "bytes", "Device memory that all processes hold", false, true,
       &Device::reserved},
      {"device_bytes", "bytes", "Memory of the whole device", false, true, &Device::total},
      {"out_of_memory", "",
       "Allocations of all processes that failed because there was not enough memory", true, true,
       &Device::out_of_memory},
  };
  std::string text;
  AddHead(
      {.name = "process_info", .help = "A process that runs under vramstow", .is_open = is_open},
      &text);
  for (const std::string& labels : infos_) {
    absl::StrAppend(&text, "vramstow_process_info{", labels, "} 1\n");
  }
  AddHead(
      {.name = "node_processes", .help = "Processes that run under vramstow", .is_open = is_open},
      &text);
  absl::StrAppend(&text, "vramstow_node_processes ", infos_.size(), "\n");
  for (const Family& family : kFamilies) AddFamily(family, is_open, &text);
  if (is_open) absl::StrAppend(&text, "# EOF\n");
  return text;
}

}  // namespace vramstow
