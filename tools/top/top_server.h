// TopServer: serves metrics about the memory of a node's processes to Prometheus, until a signal
// arrives.
//
// Idea: it works like the metrics server inside a process. It has a fixed number of connections,
// and each of them has one request, one answer and a deadline. When a client sends a request, the
// processes are read, unless the last reading was too short a time ago. Then the client gets the
// last answer again.
//
// Ownership: owns the listener, the clients, and the file of a local socket, which is removed at
// the end. Threads: used by one thread at a time; SIGINT, SIGTERM and SIGHUP are blocked while it
// serves. Errors: one sentence from Open. Units: milliseconds.
#ifndef VRAMSTOW_TOOLS_TOP_TOP_SERVER_H_
#define VRAMSTOW_TOOLS_TOP_TOP_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/clients.h"
#include "tools/top/top_metrics.h"
#include "tools/top/top_view.h"

namespace vramstow {

class TopServer {
 public:
  TopServer(TopView* view, uint64_t pause_ms) : view_(*view), pause_ms_(pause_ms) {}
  ~TopServer();
  TopServer(const TopServer&) = delete;
  TopServer& operator=(const TopServer&) = delete;

  // Opens the listener. `place` is its address: "9400", "0.0.0.0:9400", "[::]:9400" or "unix:PATH".
  absl::Status Open(const std::string& place);
  // Serves clients until a signal arrives, and then returns.
  void Serve();

 private:
  static constexpr int kMaxClients = 4;
  using One = Client<4096, size_t{1} << 20>;

  absl::Status OpenSocket(const std::string& path);
  bool Answer(One* client);
  void LookAgain();

  TopView& view_;
  const uint64_t pause_ms_;
  TopMetrics metrics_;
  uint64_t looked_ms_ = 0;
  int listener_ = -1;
  std::string socket_;  // the file of a local socket
  std::unique_ptr<Clients<One, kMaxClients>> clients_ =
      std::make_unique<Clients<One, kMaxClients>>();
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_TOP_TOP_SERVER_H_
