#include "tools/top/top_server.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/control.h"
#include "base/local_socket.h"
#include "base/metrics_http.h"
#include "base/options.h"
#include "tools/base/words.h"

namespace vramstow {
namespace {

uint64_t Milliseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

}  // namespace

TopServer::~TopServer() {
  clients_->DropAll();
  if (listener_ >= 0) close(listener_);
  if (!socket_.empty()) unlink(socket_.c_str());
}

absl::Status TopServer::Open(const std::string& place) {
  MetricsSetting setting;
  if (!ParseMetrics(place, &setting) || (setting.kind != MetricsSetting::Kind::kPort &&
                                         setting.kind != MetricsSetting::Kind::kSocket)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--serve is '", Printable(place),
                     "': it must be a port, an address and a port, or a Unix socket, for example "
                     "9400, 0.0.0.0:9400, [::]:9400 or unix:PATH."));
  }
  if (setting.kind == MetricsSetting::Kind::kSocket) return OpenSocket(std::string(setting.path));
  listener_ = ListenAtPort(std::string(setting.address).c_str(), setting.port, kMaxClients);
  if (listener_ >= 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot listen at ", std::string(setting.address),
                                             ", port ", setting.port, ": ", strerror(errno), "."));
}

absl::Status TopServer::OpenSocket(const std::string& path) {
  if (path.size() < kMaxControlPath) {
    listener_ = ListenLocally(path.c_str(), kMaxClients);
  } else {
    errno = ENAMETOOLONG;
  }
  if (listener_ < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen at ", Printable(path), ": ", strerror(errno), "."));
  }
  socket_ = path;
  return absl::OkStatus();
}

void TopServer::LookAgain() {
  // Reading a long trace takes long, so at most a quarter of the time is spent on reading.
  const uint64_t pause = std::max(pause_ms_, 3 * view_.cost_ms());
  if (looked_ms_ != 0 && Milliseconds() - looked_ms_ < pause) return;
  // If no process is left, the metrics of processes are empty.
  metrics_.Take(view_.Look().ok() ? view_.processes() : std::vector<TopProcess>());
  looked_ms_ = std::max<uint64_t>(1, Milliseconds());
}

bool TopServer::Answer(One* client) {
  const MetricsRequest request = ReadMetricsRequest({client->request, client->received});
  if (!request.is_whole) return false;
  std::string text;
  if (request.is_here) {
    LookAgain();
    text = metrics_.Text(request.is_open);
    if (text.size() > sizeof client->answer - kMetricsHeadBytes) text.clear();
  }
  const size_t head = WriteMetricsHead(request, text.size(), client->answer);
  std::memcpy(client->answer + head, text.data(), text.size());
  client->answer_size = head + text.size();
  return true;
}

void TopServer::Serve() {
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  sigprocmask(SIG_BLOCK, &signals, &before);
  const int asked_to_end = signalfd(-1, &signals, SFD_CLOEXEC);
  while (true) {
    pollfd polls[2 + kMaxClients];
    const int count = clients_->Watch(listener_, polls);
    polls[count] = {asked_to_end, POLLIN, 0};
    constexpr int kLongestWaitMs = 1000;  // a slower client is dropped
    if (poll(polls, static_cast<nfds_t>(count) + 1, kLongestWaitMs) < 0 && errno != EINTR) break;
    if ((polls[count].revents & POLLIN) != 0) break;
    clients_->Serve(
        listener_, polls, count, Milliseconds() * 1'000'000, [](int) { return true; },
        [this](One* client) { return Answer(client); });
  }
  // The pending signal is read here, so that it does not end the program when it is unblocked.
  signalfd_siginfo taken;
  [[maybe_unused]] const ssize_t got = read(asked_to_end, &taken, sizeof taken);
  close(asked_to_end);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace vramstow
