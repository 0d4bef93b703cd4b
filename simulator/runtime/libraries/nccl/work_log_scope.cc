#include "simulator/runtime/libraries/nccl/work_log_scope.h"

#include <algorithm>

#include "simulator/runtime/libraries/common/driver_function.h"
#include "simulator/runtime/libraries/nccl/reduction.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {
namespace {

struct WorkLogFunctions {
  decltype(&vramstowSimulatorLogsWork) logs = nullptr;
  decltype(&vramstowSimulatorLogWork) log = nullptr;
  decltype(&vramstowSimulatorHoldKernels) hold = nullptr;

  WorkLogFunctions() {
    FindDriverFunction("vramstowSimulatorLogsWork", &logs);
    FindDriverFunction("vramstowSimulatorLogWork", &log);
    FindDriverFunction("vramstowSimulatorHoldKernels", &hold);
  }
  bool complete() const { return logs != nullptr && log != nullptr && hold != nullptr; }
};

const WorkLogFunctions& Functions() {
  static const auto* functions = new WorkLogFunctions;
  return *functions;
}

const char* NameInWorkLog(Kind kind) {
  switch (kind) {
    case Kind::kAllReduce:
      return "all_reduce";
    case Kind::kReduce:
      return "reduce";
    case Kind::kBroadcast:
      return "broadcast";
    case Kind::kAllGather:
      return "all_gather";
    case Kind::kReduceScatter:
      return "reduce_scatter";
    case Kind::kAllToAll:
      return "all_to_all";
    case Kind::kGather:
      return "gather";
    case Kind::kScatter:
      return "scatter";
    case Kind::kSend:
      return "send";
    case Kind::kReceive:
      return "receive";
  }
  return "-";
}

// The two functions below return how many parts a rank sends, and how many it receives. Every rank
// is counted like the root.
uint64_t PartsSent(Kind kind, uint64_t ranks) {
  switch (kind) {
    case Kind::kReduceScatter:
    case Kind::kAllToAll:
    case Kind::kScatter:
      return ranks;
    case Kind::kReceive:
      return 0;
    default:
      return 1;
  }
}
uint64_t PartsReceived(Kind kind, uint64_t ranks) {
  switch (kind) {
    case Kind::kAllGather:
    case Kind::kAllToAll:
    case Kind::kGather:
      return ranks;
    case Kind::kSend:
      return 0;
    default:
      return 1;
  }
}

}  // namespace

WorkLogScope::WorkLogScope(const std::vector<Operation>& operations) {
  if (!Functions().complete()) return;
  Functions().hold(1);
  if (Functions().logs() == 0) return;
  for (const Operation& operation : operations) {
    const auto ranks = static_cast<uint64_t>(operation.comm->ranks);
    const uint64_t bytes = operation.count * BytesOf(operation.type);
    vramstowSimulatorWorkLine line = {};
    line.size = sizeof line;
    line.kind = "collective";
    line.name = NameInWorkLog(operation.kind);
    line.precision = "-";
    line.read_bytes = bytes * PartsSent(operation.kind, ranks);
    line.written_bytes = bytes * PartsReceived(operation.kind, ranks);
    line.items = ranks;
    Functions().log(operation.stream, &line, nullptr, 0);
  }
}

WorkLogScope::~WorkLogScope() {
  if (Functions().complete()) Functions().hold(-1);
}

}  // namespace vramstow::simulator
