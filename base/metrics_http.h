// MetricsHttp: reads a scraper's HTTP request, writes the head of the answer, and opens the
// listening socket. Both a process under vramstow and the program that reports on all such
// processes use it.
//
// Ownership: the caller owns descriptors and texts. Threads: pure functions. Errors: returns -1 and
// sets errno. No heap. Units: bytes.
#ifndef VRAMSTOW_BASE_METRICS_HTTP_H_
#define VRAMSTOW_BASE_METRICS_HTTP_H_

#include <cstddef>
#include <string_view>

namespace vramstow {

struct MetricsRequest {
  bool is_whole = false;  // false if more of it must be received
  bool is_get = false;
  bool is_here = false;  // true if it asks for the metrics
  bool is_open = false;  // OpenMetrics if true, else Prometheus's older format
};
MetricsRequest ReadMetricsRequest(std::string_view text);

inline constexpr size_t kMetricsHeadBytes = 256;

// Writes the head of an HTTP answer into `head`, which has kMetricsHeadBytes. `size` is the number
// of bytes of metrics that follow the head; 0 means that there are no metrics. Returns the length
// of the head.
size_t WriteMetricsHead(const MetricsRequest& request, size_t size, char* head);

// Listens at a numeric address, with room for `clients` pending connections; the descriptor is
// non-blocking.
int ListenAtPort(const char* address, long port, int clients);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_METRICS_HTTP_H_
