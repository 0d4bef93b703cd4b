#include "interpose/core/service/metrics_text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "interpose/core/pools/application.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/share/sharer.h"

#define VRAMSTOW_IMPLEMENTATION
#include "include/vramstow/vramstow.h"

namespace vramstow {
namespace {

// Metrics are exported for at most this many devices with pools.
constexpr int kMaxDevices = 16;

struct Device {
  int number;
  vramstow_stats stats;
  DeviceMemory memory;
  uint64_t hits;
  TurnFigures::Values share;
};

enum class MetricType : uint8_t { kGauge, kCounter };

struct Metric {
  const char* name;
  MetricType type;
  const char* unit;
  const char* help;
  uint64_t (*value)(const Device& device);
};

#define METRIC_ROW(name, type, unit, value, help)                                \
  {#name, MetricType::k##type, unit, help, [](const Device& device) {            \
     [[maybe_unused]] const auto& [number, stats, memory, hits, share] = device; \
     return uint64_t{value};                                                     \
   }},
constexpr Metric kMetrics[] = {
#define METRIC METRIC_ROW
#define SHARE_METRIC(...)
#include "interpose/core/service/metrics.def"
#undef METRIC
#undef SHARE_METRIC
};
constexpr Metric kShareMetrics[] = {
#define METRIC(...)
#define SHARE_METRIC METRIC_ROW
#include "interpose/core/service/metrics.def"
#undef METRIC
#undef SHARE_METRIC
};
#undef METRIC_ROW

class Lines {
 public:
  Lines(char* text, size_t size) : text_(text), size_(size) {}

  [[gnu::format(printf, 2, 3)]] void Add(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int added = std::vsnprintf(text_ + length_, size_ - length_, format, arguments);
    va_end(arguments);
    if (added < 0 || static_cast<size_t>(added) >= size_ - length_) {
      is_full_ = true;
    } else {
      length_ += static_cast<size_t>(added);
    }
  }
  size_t length() const { return is_full_ ? 0 : length_; }

 private:
  char* text_;
  size_t size_;
  size_t length_ = 0;
  bool is_full_ = false;
};

// A text in the form of a label's value. Characters other than printable ASCII are replaced by '?'.
struct Label {
  char text[128];
  explicit Label(const char* value) {
    size_t length = 0;
    for (; *value != '\0' && length + 2 < sizeof text; ++value) {
      if (*value == '"' || *value == '\\') text[length++] = '\\';
      text[length++] = *value >= ' ' && *value < 127 ? *value : '?';
    }
    text[length] = '\0';
  }
};

void AddHead(const Metric& metric, MetricsForm form, Lines* lines) {
  const bool is_counter = metric.type == MetricType::kCounter;
  // In the OpenMetrics format the name of a counter's family has no suffix "_total"; in the older
  // text format it has.
  const char* ending = is_counter && form == MetricsForm::kText ? "_total" : "";
  lines->Add("# HELP vramstow_%s%s %s.\n", metric.name, ending, metric.help);
  lines->Add("# TYPE vramstow_%s%s %s\n", metric.name, ending, is_counter ? "counter" : "gauge");
  if (form == MetricsForm::kOpenMetrics && *metric.unit != '\0') {
    lines->Add("# UNIT vramstow_%s %s\n", metric.name, metric.unit);
  }
}

void AddMetric(const Metric& metric, const Device* devices, int count, const char* rank,
               MetricsForm form, Lines* lines) {
  const auto is_known = [&metric](const Device& device) {
    return metric.value(device) != VRAMSTOW_NOT_KNOWN;
  };
  // If no device has figures yet, the lines with names and descriptions are written nevertheless.
  // They show a reader which metrics there will be.
  if (count != 0 && std::none_of(devices, devices + count, is_known)) return;
  AddHead(metric, form, lines);
  for (int i = 0; i < count; ++i) {
    if (!is_known(devices[i])) continue;
    lines->Add("vramstow_%s%s{device=\"%d\",pid=\"%ld\",rank=\"%s\"} ", metric.name,
               metric.type == MetricType::kCounter ? "_total" : "", devices[i].number,
               static_cast<long>(getpid()), rank);
    const auto value = static_cast<unsigned long long>(metric.value(devices[i]));
    constexpr unsigned long long kSecond = 1'000'000'000;
    if (std::strcmp(metric.unit, "seconds") == 0) {
      lines->Add("%llu.%09llu\n", value / kSecond, value % kSecond);
    } else {
      lines->Add("%llu\n", value);
    }
  }
}

// Adds the figures of the GPUs that this process shares. The state has a line for each of its
// values, of which one is 1.
void AddShareMetrics(const Device* devices, int count, const char* rank, MetricsForm form,
                     Lines* lines) {
  for (const Metric& metric : kShareMetrics) AddMetric(metric, devices, count, rank, form, lines);
  lines->Add("# HELP vramstow_share_state The state of the process in sharing its GPU.\n");
  lines->Add("# TYPE vramstow_share_state gauge\n");
  for (int i = 0; i < count; ++i) {
    for (const char* const name : kShareStateNames) {
      lines->Add("vramstow_share_state{device=\"%d\",pid=\"%ld\",rank=\"%s\",state=\"%s\"} %d\n",
                 devices[i].number, static_cast<long>(getpid()), rank, name,
                 std::strcmp(name, NameOf(devices[i].share.state)) == 0 ? 1 : 0);
    }
  }
}

}  // namespace

size_t MetricsText::Write(MetricsForm form, char* text, size_t size) {
  Device devices[kMaxDevices];
  application_.SettleFrees(VRAMSTOW_ALL_DEVICES);
  int count = 0;
  for (int number = 0; number < Pools::kMaxDevices && count < kMaxDevices; ++number) {
    Device& device = devices[count];
    device = {number, {}, {}, 0, {}};
    if (application_.GetStats(number, &device.stats, sizeof device.stats) != VRAMSTOW_OK) continue;
    application_.GetMemory(number, &device.memory);
    // A failed request counts as a miss, but not as an allocation.
    const uint64_t asked = device.stats.allocations + device.stats.out_of_memory;
    const uint64_t hits = asked - std::min(asked, device.stats.misses);
    const bool has_hits = device.stats.misses != VRAMSTOW_NOT_KNOWN;
    if (has_hits) hits_[number] = std::max(hits_[number], hits);
    device.hits = has_hits ? hits_[number] : VRAMSTOW_NOT_KNOWN;
    ++count;
  }
  const char* rank = RankText() == nullptr ? "" : RankText();
  Lines lines(text, size);
  lines.Add("# HELP vramstow_process_info The process that reports these numbers.\n");
  lines.Add("# TYPE vramstow_process_info gauge\n");
  lines.Add("vramstow_process_info{pid=\"%ld\",rank=\"%s\",program=\"%s\",version=\"%s\"} 1\n",
            static_cast<long>(getpid()), rank, Label(ProgramName()).text, VRAMSTOW_VERSION);
  for (const Metric& metric : kMetrics) AddMetric(metric, devices, count, rank, form, &lines);
  int shared = 0;
  for (int number = 0; number < Sharer::kMaxDevices && shared < kMaxDevices; ++number) {
    Device& device = devices[shared];
    if (!sharer_.ReadFigures(number, &device.share)) continue;
    device.number = number;
    ++shared;
  }
  if (shared != 0) AddShareMetrics(devices, shared, rank, form, &lines);
  if (form == MetricsForm::kOpenMetrics) lines.Add("# EOF\n");
  return lines.length();
}

}  // namespace vramstow
