#include "interpose/core/service/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/control.h"
#include "base/descriptor.h"
#include "base/local_socket.h"
#include "base/metrics_http.h"
#include "interpose/core/record/facts.h"
#include "interpose/core/runtime/log.h"

namespace vramstow {
namespace {

using Kind = MetricsSetting::Kind;

// Appends a text to a path, if there is room.
bool Append(std::string_view text, char* path, size_t size) {
  const size_t length = std::strlen(path);
  if (length + text.size() >= size) return false;
  std::memcpy(path + length, text.data(), text.size());
  path[length + text.size()] = '\0';
  return true;
}

// Makes the path absolute and replaces %p (the process number) and %r (the rank) in it.
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
  const int listener = ListenAtPort(address, port, kMaxClients);
  if (listener < 0) return false;
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
      is_removed_ = false;
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
  if (setting.kind != Kind::kFile) {
    listener_ = MoveDescriptorUp(listener_);
    clients_.Begin(listener_);
  }
  kind_ = setting.kind;
  return true;
}

void MetricsServer::Close() {
  RemoveFiles();
  Abandon();
}

void MetricsServer::RemoveFiles() {
  if (kind_ == Kind::kSocket) unlink(path_);
  // Removes the file, because the figures of an ended process are no longer true. If this process
  // has never written the file, it may belong to another process and is not removed.
  if (kind_ != Kind::kFile) return;
  is_removed_ = true;
  if (written_ns_ != 0) unlink(path_);
}

void MetricsServer::Abandon() {
  if (kind_ == Kind::kPort || kind_ == Kind::kSocket) clients_.Close(listener_);
  kind_ = Kind::kNone;
}

int MetricsServer::Watch(pollfd* polls) const {
  if (kind_ == Kind::kNone || kind_ == Kind::kFile) return 0;
  return clients_.Watch(listener_, polls);
}

void MetricsServer::Serve(const pollfd* polls, int count, uint64_t now_ns) {
  clients_.Serve(
      listener_, polls, count, now_ns, [](int) { return true; },
      [this](MetricsClient* client) { return Answer(client); });
  if (kind_ != Kind::kFile || is_removed_) return;
  if (written_ns_ != 0 && now_ns - written_ns_ < every_ns_) return;
  written_ns_ = now_ns;
  WriteFile();
  if (is_removed_) unlink(path_);  // it was removed meanwhile
}

// Answers a request. The length of the HTTP head depends on the text behind it. So the text is
// written first, with room for the head in front, and is then moved directly behind the head.
bool MetricsServer::Answer(MetricsClient* client) {
  const MetricsRequest request = ReadMetricsRequest({client->request, client->received});
  if (!request.is_whole) return false;
  char* const text = client->answer + kMetricsHeadBytes;
  size_t size = 0;
  if (request.is_here) {
    size = text_.Write(request.is_open ? MetricsForm::kOpenMetrics : MetricsForm::kText, text,
                       sizeof client->answer - kMetricsHeadBytes);
  }
  const size_t head = WriteMetricsHead(request, size, client->answer);
  std::memmove(client->answer + head, text, size);
  client->answer_size = head + size;
  return true;
}

void MetricsServer::WriteFile() {
  MetricsClient* const room = clients_.at(0);  // a file has no clients, so this buffer is free
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
    Log("the metrics could not be written (%.200s: %s); vramstow tries again.", path_,
        std::strerror(error));
  }
  is_complained_ = true;
}

}  // namespace vramstow
