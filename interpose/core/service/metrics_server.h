// MetricsServer exports the pool's figures to Prometheus: over HTTP at a port or a Unix socket, or
// in a file that the node exporter reads.
//
// Idea: it has a fixed number of connections, with one request, one answer, a fixed buffer and a
// deadline for each, like the control socket. A client that is too slow or sends too much is
// dropped.
//
// Ownership: the listener, its file and the clients, until Close. Threads: the service thread;
// Abandon in a forked child. Errors: false from Open, with the reason in `why`; a file that cannot
// be written is logged once. No heap. Units: nanoseconds.
#ifndef VRAMSTOW_INTERPOSE_CORE_SERVICE_METRICS_SERVER_H_
#define VRAMSTOW_INTERPOSE_CORE_SERVICE_METRICS_SERVER_H_

#include <limits.h>
#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clients.h"
#include "base/options.h"
#include "interpose/core/runtime/core.h"
#include "interpose/core/service/metrics_text.h"

namespace vramstow {

class MetricsServer {
 public:
  static constexpr int kMaxClients = 4;

  constexpr explicit MetricsServer(MetricsText& text) : text_(text) {}
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  // Opens the port or socket that the user has chosen; `chosen` is the text of that option. Also
  // returns true if the user wants no metrics; then nothing is opened.
  bool Open(const char* chosen, char* why, size_t why_size);
  // Removes the files that this object made, and closes the descriptors.
  void Close();
  // Removes the files only, because the service thread still uses the descriptors.
  void RemoveFiles();
  // Closes the descriptors but leaves the files, which belong to the parent. Called in a forked
  // child; async-signal-safe.
  void Abandon();

  bool is_open() const { return kind_ != MetricsSetting::Kind::kNone; }

  // Fills in the descriptors to wait for, up to 1 + kMaxClients entries. Returns their number.
  int Watch(pollfd* polls) const;
  // Called after poll: accepts clients, answers, drops clients that are too slow, and writes the
  // file when it is due.
  void Serve(const pollfd* polls, int count, uint64_t now_ns);

 private:
  using MetricsClient = Client<4096, 1 << 16>;

  bool OpenPort(const MetricsSetting& setting);
  bool Answer(MetricsClient* client);
  void WriteFile();

  MetricsText& text_;
  // All of these members start as zero, so that they need no room in the core's file.
  MetricsSetting::Kind kind_ = MetricsSetting::Kind::kNone;
  bool is_complained_ = false;
  int listener_ = 0;
  uint64_t every_ns_ = 0;
  std::atomic<uint64_t> written_ns_{0};
  std::atomic<bool> is_removed_{false};  // the service thread must not write the file again
  char path_[PATH_MAX] = {};
  char new_path_[PATH_MAX] = {};  // the file's name while it is written
  Clients<MetricsClient, kMaxClients> clients_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_SERVICE_METRICS_SERVER_H_
