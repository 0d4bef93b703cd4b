#include "base/metrics_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace vramstow {
namespace {

constexpr std::string_view kOpenMetrics = "application/openmetrics-text";

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

MetricsRequest ReadMetricsRequest(std::string_view text) {
  MetricsRequest request;
  request.is_whole = Contains(text, "\r\n\r\n") || Contains(text, "\n\n");
  request.is_get = text.starts_with("GET ");
  request.is_here = text.starts_with("GET /metrics ") || text.starts_with("GET / ") ||
                    text.starts_with("GET /metrics?");
  request.is_open = Contains(text, kOpenMetrics);
  return request;
}

size_t WriteMetricsHead(const MetricsRequest& request, size_t size, char* head) {
  const char* status = !request.is_get ? "405 Method Not Allowed" : "404 Not Found";
  if (request.is_here) status = size != 0 ? "200 OK" : "500 Internal Server Error";
  const char* type = request.is_here && request.is_open
                         ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                         : "text/plain; version=0.0.4; charset=utf-8";
  const int length = std::snprintf(head, kMetricsHeadBytes,
                                   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                                   "Connection: close\r\n\r\n",
                                   status, type, size);
  return static_cast<size_t>(length);
}

int ListenAtPort(const char* address, long port, int clients) {
  if (port < 0 || port > 65535) {
    errno = ERANGE;
    return -1;
  }
  sockaddr_storage storage = {};
  socklen_t size = 0;
  const uint16_t network_port = htons(static_cast<uint16_t>(port));
  if (auto* four = reinterpret_cast<sockaddr_in*>(&storage);
      inet_pton(AF_INET, address, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = network_port;
    size = sizeof *four;
  } else {
    auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
    if (inet_pton(AF_INET6, address, &six->sin6_addr) != 1) {
      errno = EINVAL;
      return -1;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = network_port;
    size = sizeof *six;
  }
  const int listener = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return -1;
  // SO_REUSEADDR is needed because connections of a process that has ended could otherwise block
  // the port for the next process.
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&storage), size) != 0 ||
      listen(listener, clients) != 0) {
    const int error = errno;
    close(listener);
    errno = error;
    return -1;
  }
  return listener;
}

}  // namespace vramstow
