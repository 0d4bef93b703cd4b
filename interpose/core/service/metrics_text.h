// MetricsText: the numbers of the pool, or of PyTorch's own allocator, as Prometheus reads them.
//
// Idea: metrics.def has them all; what is not known of a device is left out. There are two forms of
// the same: OpenMetrics for whoever asks for it, and the older text format, which files for the
// node exporter are in.
//
// Ownership: the text goes into the caller's memory. Threads: one at a time. Errors: 0 where there
// is too little room. No heap. Units: bytes, seconds.
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
  constexpr explicit MetricsText(const Application& application) : application_(application) {}
  MetricsText(const MetricsText&) = delete;
  MetricsText& operator=(const MetricsText&) = delete;

  // Returns the length; 0: there is too little room.
  size_t Write(MetricsForm form, char* text, size_t size);

 private:
  const Application& application_;
  // A counter never falls, although what it is made of is not read at one moment.
  uint64_t hits_[Pools::kMaxDevices] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_METRICS_TEXT_H_
