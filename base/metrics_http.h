// MetricsHttp: what a scraper asks over HTTP, the head of the answer, and where it is listened for:
// for a process under vramstow, and for the program that tells of all of them.
//
// Ownership: descriptors and texts are the caller's. Threads: pure functions. Errors: -1 and errno.
// No heap. Units: bytes.
#ifndef VRAMSTOW_BASE_METRICS_HTTP_H_
#define VRAMSTOW_BASE_METRICS_HTTP_H_

#include <cstddef>
#include <string_view>

namespace vramstow {

struct MetricsRequest {
  bool is_whole = false;  // false: more of it is to come
  bool is_get = false;
  bool is_here = false;  // it asks for the metrics
  bool is_open = false;  // as OpenMetrics; else in Prometheus's older format
};
MetricsRequest ReadMetricsRequest(std::string_view text);

inline constexpr size_t kMetricsHeadBytes = 256;

// Writes the head of an answer with `size` bytes of metrics behind it into kMetricsHeadBytes; 0:
// there are none. Returns its length.
size_t WriteMetricsHead(const MetricsRequest& request, size_t size, char* head);

// Listens at a numeric address for that many clients; the descriptor does not block.
int ListenAtPort(const char* address, long port, int clients);

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_METRICS_HTTP_H_
