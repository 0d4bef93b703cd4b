// MetricsText writes the figures of the pool, or of PyTorch's own allocator, in Prometheus'
// formats.
//
// Idea: metrics.def lists all of them; unknown figures of a device are omitted. There are two
// formats: OpenMetrics for clients that ask for it, and the older text format, which files for the
// node exporter use.
//
// Ownership: the text is written to the caller's memory. Threads: one at a time. Errors: 0 if the
// buffer is too small. No heap. Units: bytes, seconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SERVICE_METRICS_TEXT_H_
#define VRAMSTOW_INTERPOSE_CORE_SERVICE_METRICS_TEXT_H_

#include <cstddef>
#include <cstdint>

#include "interpose/core/pools/pools.h"
#include "interpose/core/runtime/core.h"

namespace vramstow {

enum class MetricsForm : uint8_t { kText, kOpenMetrics };

class MetricsText {
 public:
  constexpr MetricsText(const Application& application, const Sharer& sharer)
      : application_(application), sharer_(sharer) {}
  MetricsText(const MetricsText&) = delete;
  MetricsText& operator=(const MetricsText&) = delete;

  // Writes all metrics. Returns the length of the text, or 0 if the buffer is too small.
  size_t Write(MetricsForm form, char* text, size_t size);

 private:
  const Application& application_;
  const Sharer& sharer_;
  // The largest value so far of each device's counter of requests that cached memory served. The
  // counter is computed from figures that are not read at the same moment, but it must never fall.
  uint64_t hits_[Pools::kMaxDevices] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_METRICS_TEXT_H_
