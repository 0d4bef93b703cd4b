#include "interpose/core/service/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/control.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/runtime/log.h"
#include "interpose/core/service/local_socket.h"

namespace vramstow {
namespace {

using Kind = MetricsSetting::Kind;

constexpr std::string_view kOpenMetrics = "application/openmetrics-text";
constexpr size_t kHeadBytes = 256;

// Adds a text to a path, if there is room.
bool Append(std::string_view text, char* path, size_t size) {
  const size_t length = std::strlen(path);
  if (length + text.size() >= size) return false;
  std::memcpy(path + length, text.data(), text.size());
  path[length + text.size()] = '\0';
  return true;
}

// The path, absolute, with what %p and %r stand for.
bool ExpandPath(std::string_view chosen, char* path, size_t size) {
  path[0] = '\0';
  if (!chosen.starts_with('/')) {
    if (getcwd(path, size) == nullptr || !Append("/", path, size)) return false;
  }
  char process[24];
  std::snprintf(process, sizeof process, "%ld", static_cast<long>(getpid()));
  const char* rank = RankText();
  while (!chosen.empty()) {
    std::string_view part(chosen.data(), 1);
    if (chosen.starts_with("%p") || chosen.starts_with("%r")) {
      part = chosen[1] == 'p' ? process : rank == nullptr ? "0" : rank;
      chosen.remove_prefix(1);
    }
    chosen.remove_prefix(1);
    if (!Append(part, path, size)) {
      errno = ENAMETOOLONG;
      return false;
    }
  }
  return true;
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool WriteAll(int file, const char* text, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, text, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

bool MetricsServer::OpenPort(const MetricsSetting& setting) {
  char address[INET6_ADDRSTRLEN] = {};
  std::memcpy(address, setting.address.data(),
              std::min(setting.address.size(), sizeof address - 1));
  const char* local_rank = LocalRankText();
  const long port =
      setting.port + (local_rank == nullptr ? 0 : std::strtol(local_rank, nullptr, 10));
  std::snprintf(path_, sizeof path_, "%s, port %ld", address, port);
  if (port > 65535) {
    errno = ERANGE;
    return false;
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
      return false;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = network_port;
    size = sizeof *six;
  }
  const int listener = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return false;
  // Connections of a process that has ended do not keep the port from the next one.
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&storage), size) != 0 ||
      listen(listener, kMaxClients) != 0) {
    const int error = errno;
    close(listener);
    errno = error;
    return false;
  }
  listener_ = listener;
  return true;
}

bool MetricsServer::Open(const char* chosen, char* why, size_t why_size) {
  MetricsSetting setting;
  if (!ParseMetrics(chosen, &setting) || setting.kind == Kind::kNone) return true;
  bool is_open = false;
  if (setting.kind == Kind::kPort) {
    is_open = OpenPort(setting);
  } else if (ExpandPath(setting.path, path_, sizeof path_)) {
    if (setting.kind == Kind::kFile) {
      const int length =
          std::snprintf(new_path_, sizeof new_path_, "%s.%ld", path_, static_cast<long>(getpid()));
      is_open = length > 0 && static_cast<size_t>(length) < sizeof new_path_;
      every_ns_ = setting.every_ns;
      written_ns_ = 0;
    } else if (std::strlen(path_) < kMaxControlPath) {
      listener_ = ListenLocally(path_, kMaxClients);
      is_open = listener_ >= 0;
    } else {
      errno = ENAMETOOLONG;
    }
  }
  if (!is_open) {
    std::snprintf(why, why_size, "%.200s: %s", path_, std::strerror(errno));
    return false;
  }
  kind_ = setting.kind;
  return true;
}

void MetricsServer::Close() {
  if (kind_ == Kind::kSocket) unlink(path_);
  // Numbers of a process that is gone are no longer true. Before the first there is none of ours.
  if (kind_ == Kind::kFile && written_ns_ != 0) unlink(path_);
  Abandon();
}

void MetricsServer::Abandon() {
  if (kind_ == Kind::kPort || kind_ == Kind::kSocket) close(listener_);
  kind_ = Kind::kNone;
  clients_.DropAll();
}

int MetricsServer::Watch(pollfd* polls) const {
  if (kind_ == Kind::kNone || kind_ == Kind::kFile) return 0;
  return clients_.Watch(listener_, polls);
}

void MetricsServer::Serve(const pollfd* polls, int count, uint64_t now_ns) {
  clients_.Serve(
      listener_, polls, count, now_ns, [](int) { return true; },
      [this](MetricsClient* client) { return Answer(client); });
  if (kind_ == Kind::kFile && (written_ns_ == 0 || now_ns - written_ns_ >= every_ns_)) {
    written_ns_ = now_ns;
    WriteFile();
  }
}

// The text is written behind the room for the head, and then moved up to it.
bool MetricsServer::Answer(MetricsClient* client) {
  const std::string_view request(client->request, client->received);
  if (!Contains(request, "\r\n\r\n") && !Contains(request, "\n\n")) return false;
  const bool is_get = request.starts_with("GET ");
  const bool is_here = request.starts_with("GET /metrics ") || request.starts_with("GET / ") ||
                       request.starts_with("GET /metrics?");
  const bool is_open = Contains(request, kOpenMetrics);
  const char* status = !is_get ? "405 Method Not Allowed" : "404 Not Found";
  char* const text = client->answer + kHeadBytes;
  size_t size = 0;
  if (is_here) {
    size = text_.Write(is_open ? MetricsForm::kOpenMetrics : MetricsForm::kText, text,
                       sizeof client->answer - kHeadBytes);
    status = size != 0 ? "200 OK" : "500 Internal Server Error";
  }
  const char* type = is_here && is_open
                         ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                         : "text/plain; version=0.0.4; charset=utf-8";
  const int head = std::snprintf(client->answer, kHeadBytes,
                                 "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                                 "Connection: close\r\n\r\n",
                                 status, type, size);
  std::memmove(client->answer + head, text, size);
  client->answer_size = static_cast<size_t>(head) + size;
  return true;
}

void MetricsServer::WriteFile() {
  MetricsClient* const room = clients_.at(0);  // there are no clients of a file
  const char* const text = room->answer;
  const size_t size = text_.Write(MetricsForm::kText, room->answer, sizeof room->answer);
  const int file = open(new_path_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  bool is_written = file >= 0 && WriteAll(file, text, size);
  int error = errno;
  if (file >= 0) close(file);
  if (is_written && rename(new_path_, path_) != 0) {
    is_written = false;
    error = errno;
  }
  if (is_written) return;
  if (file >= 0) unlink(new_path_);
  if (!is_complained_) {
    Log("the metrics are not written (%.200s: %s); it is tried again.", path_,
        std::strerror(error));
  }
  is_complained_ = true;
}

}  // namespace vramstow
