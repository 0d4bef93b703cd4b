#include "simulator/runtime/libraries/nccl/absent.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "simulator/runtime/libraries/common/driver_function.h"
#include "simulator/runtime/libraries/nccl/reduction.h"
#include "simulator/runtime/libraries/nccl/submission.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {
namespace {

// Messages up to this size are always copied, whatever the SPEC says about values, because programs
// send counts and shapes.
constexpr size_t kSmallMessage = 1 << 20;

struct DriverExtras {
  decltype(&vramstowSimulatorRanks) ranks = nullptr;
  decltype(&vramstowSimulatorAppend) append = nullptr;
  decltype(&vramstowSimulatorShadow) shadow = nullptr;

  DriverExtras() {
    FindDriverFunction("vramstowSimulatorRanks", &ranks);
    FindDriverFunction("vramstowSimulatorAppend", &append);
    FindDriverFunction("vramstowSimulatorShadow", &shadow);
  }
};

const DriverExtras& Extras() {
  static const DriverExtras* extras = new DriverExtras;
  return *extras;
}

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kAllReduce:
      return "ncclAllReduce";
    case Kind::kReduce:
      return "ncclReduce";
    case Kind::kBroadcast:
      return "ncclBroadcast";
    case Kind::kAllGather:
      return "ncclAllGather";
    case Kind::kReduceScatter:
      return "ncclReduceScatter";
    case Kind::kAllToAll:
      return "ncclAlltoAll";
    case Kind::kGather:
      return "ncclGather";
    case Kind::kScatter:
      return "ncclScatter";
    case Kind::kSend:
      return "ncclSend";
    case Kind::kReceive:
      break;
  }
  return "ncclRecv";
}

// Computes all parts of `out` from the parts of `in`. `in` and `out` may be the same memory.
void Compute(const CollectiveRound& round, const uint8_t* in, const uint8_t* scalar, uint8_t* out) {
  const size_t bytes = round.count * BytesOf(round.type);
  const auto own = static_cast<size_t>(round.comm->rank);
  const bool has_own_part = round.parts.in > 1;
  const uint8_t* from = in + (has_own_part ? own * bytes : 0);
  switch (round.kind) {
    case Kind::kAllReduce:
    case Kind::kReduce:
    case Kind::kReduceScatter:
      ReduceSame(round.type, round.reduction, round.comm->ranks, from, round.count, out);
      if (round.scaled) Scale(round.type, scalar, round.count, out);
      return;
    default:
      break;
  }
  // If the operation is in place, the part that this rank contributes is already at its position in
  // the output.
  for (int part = 0; part < round.parts.out; ++part) {
    uint8_t* to = out + static_cast<size_t>(part) * bytes;
    if (to != from) memmove(to, from, bytes);
  }
}

const uint8_t* ScalarOf(const CollectiveRound& round) {
  return round.scalar_on_device ? round.comm->scalar : round.scalar;
}

// Computes a small operation on the driver's thread, after the copy to staging memory and before
// the copy back.
void RunStaged(void* argument) {
  auto* round = static_cast<CollectiveRound*>(argument);
  ncclComm* comm = round->comm;
  if (comm->result == ncclSuccess) {
    Compute(*round, comm->staging_in, ScalarOf(*round), comm->staging_out);
  }
  if (!round->once) return;
  delete round;
  comm->pending.fetch_sub(1);
}

ncclResult_t EnqueueStaged(const Operation& operation, std::unique_ptr<CollectiveRound> round) {
  const size_t element = BytesOf(operation.type);
  const size_t bytes = operation.count * element;
  const Parts parts = round->parts;
  Submission submission(operation.comm, operation.stream);
  if (round->scaled && round->scalar_on_device) {
    submission.In(operation.comm->scalar, DeviceScalarOf(operation), element);
  }
  submission.In(operation.comm->staging_in, operation.send, bytes * static_cast<size_t>(parts.in));
  submission.Run(std::move(round), RunStaged);
  submission.Out(operation.receive, operation.comm->staging_out,
                 bytes * static_cast<size_t>(parts.out));
  return submission.End();
}

// A large operation. It is computed directly on the host memory in which the simulated device
// stores its bytes.
struct LargeOperation {
  CollectiveRound round;
  CUdeviceptr send = 0;
  CUdeviceptr receive = 0;
  CUdeviceptr scalar = 0;  // 0 if the round holds the scalar
};

// A copy from `send` to `receive`.
struct LargeCopy {
  CUdeviceptr send = 0;
  CUdeviceptr receive = 0;
  size_t bytes = 0;
};

uint8_t* BytesAt(CUdeviceptr address, int64_t shadow) {
  return reinterpret_cast<uint8_t*>(static_cast<int64_t>(address) + shadow);
}

int RunLarge(void* user) {
  const auto& large = *static_cast<LargeOperation*>(user);
  const int64_t shadow = Extras().shadow();
  if (shadow == 0) return kVramstowSimulatorNotComputed;
  const uint8_t* scalar = large.scalar == 0 ? large.round.scalar : BytesAt(large.scalar, shadow);
  Compute(large.round, BytesAt(large.send, shadow), scalar, BytesAt(large.receive, shadow));
  return kVramstowSimulatorDone;
}

int RunLargeCopy(void* user) {
  const auto& copy = *static_cast<LargeCopy*>(user);
  const int64_t shadow = Extras().shadow();
  if (shadow == 0) return kVramstowSimulatorNotComputed;
  memmove(BytesAt(copy.receive, shadow), BytesAt(copy.send, shadow), copy.bytes);
  return kVramstowSimulatorDone;
}

// Appends a task that fills `receive`. `run(user)` computes the bytes from `send`. If `send` is
// empty, they become zeros.
template <typename User>
void Append(Submission* submission, CUstream stream, const char* name,
            vramstowSimulatorRange receive, vramstowSimulatorRange send, int (*run)(void*),
            std::unique_ptr<User> user) {
  if (Extras().append == nullptr) return submission->Try(CUDA_ERROR_NOT_SUPPORTED);
  // In a capture, a task belongs to a node of the graph. Here the node is a copy of a byte onto
  // itself.
  if (submission->capturing()) submission->Within(receive.address, receive.address, 1);
  const vramstowSimulatorRange ranges[] = {receive, send};
  vramstowSimulatorTask task = {};
  task.size = sizeof task;
  task.name = name;
  task.ranges = ranges;
  task.range_count = send.bytes == 0 ? 1 : 2;
  task.bytes = receive.bytes + send.bytes;
  task.run = run;
  task.user = user.release();
  task.drop = [](void* dropped) { delete static_cast<User*>(dropped); };
  submission->Try(static_cast<CUresult>(Extras().append(stream, &task)));
}

void AppendZeros(Submission* submission, CUstream stream, const char* name, CUdeviceptr receive,
                 size_t bytes) {
  Append<LargeCopy>(submission, stream, name,
                    {receive, bytes, kVramstowSimulatorFills | kVramstowSimulatorZeroes}, {},
                    nullptr, nullptr);
}

ncclResult_t EnqueueLarge(const Operation& operation, const CollectiveRound& round) {
  const size_t bytes = operation.count * BytesOf(operation.type);
  auto large = std::make_unique<LargeOperation>();
  large->round = round;
  large->send = operation.send;
  large->receive = operation.receive;
  if (round.scaled && round.scalar_on_device) large->scalar = DeviceScalarOf(operation);
  Submission submission(operation.comm, operation.stream);
  Append(&submission, operation.stream, NameOf(operation.kind),
         {operation.receive, bytes * static_cast<size_t>(round.parts.out), kVramstowSimulatorFills},
         {operation.send, bytes * static_cast<size_t>(round.parts.in), kVramstowSimulatorReads},
         RunLarge, std::move(large));
  return submission.End();
}

// Queues a copy of `bytes` bytes. The source is `send`, the address of the memory that one
// operation sends. The destination is the memory that the operation `receive` fills.
void AppendCopy(Submission* submission, const Operation& receive, CUdeviceptr send, size_t bytes) {
  if (bytes <= kSmallMessage) return submission->Within(receive.receive, send, bytes);
  auto copy = std::make_unique<LargeCopy>();
  *copy = {send, receive.receive, bytes};
  Append(submission, receive.stream, NameOf(receive.kind),
         {receive.receive, bytes, kVramstowSimulatorFills}, {send, bytes, kVramstowSimulatorReads},
         RunLargeCopy, std::move(copy));
}

bool IsOfPeer(const Operation& operation, Kind kind, int peer) {
  return operation.kind == kind && operation.root == peer;
}

// Returns operation `number` among the operations of this kind that send to, or receive from,
// `peer`. Returns null if there are not that many.
const Operation* FindTransfer(const std::vector<Operation>& operations, Kind kind, int peer,
                              size_t number) {
  for (const Operation& operation : operations) {
    if (IsOfPeer(operation, kind, peer) && number-- == 0) return &operation;
  }
  return nullptr;
}

size_t MessageBytes(const Operation& operation) {
  return operation.count * BytesOf(operation.type);
}

// Returns the send operation whose data replace the message that `operations[index]` would receive.
// Returns null if the message is replaced by zeros.
const Operation* FindSubstitute(const std::vector<Operation>& operations, size_t index) {
  const Operation& receive = operations[index];
  const auto before = operations.begin() + static_cast<std::ptrdiff_t>(index);
  const auto number = static_cast<size_t>(
      std::count_if(operations.begin(), before, [&](const Operation& operation) {
        return IsOfPeer(operation, Kind::kReceive, receive.root);
      }));
  for (const int peer : {receive.comm->rank, receive.root}) {
    const Operation* send = FindTransfer(operations, Kind::kSend, peer, number);
    if (send != nullptr && MessageBytes(*send) == MessageBytes(receive)) return send;
  }
  return nullptr;
}

// Replaces a broadcast by an absent rank by this rank's own broadcast in the same group, if both
// have the same length. A gather of lists is such a group, with one broadcast by each rank.
ncclResult_t EnqueueBroadcastOfOthers(const Operation& operation,
                                      const std::vector<Operation>& together) {
  Submission submission(operation.comm, operation.stream);
  for (const Operation& own : together) {
    if (own.comm != operation.comm || !IsOfPeer(own, Kind::kBroadcast, operation.comm->rank) ||
        MessageBytes(own) != MessageBytes(operation)) {
      continue;
    }
    AppendCopy(&submission, operation, own.send, MessageBytes(own));
    break;
  }
  return submission.End();
}

}  // namespace

bool OthersAreAbsent() {
  static const bool absent =
      Extras().ranks != nullptr && Extras().ranks(nullptr, -1, nullptr, 0) > 0;
  return absent;
}

ncclResult_t EnqueueAlone(const Operation& operation, const std::vector<Operation>& together) {
  const Parts parts = PartsOf(operation);
  const size_t bytes = operation.count * BytesOf(operation.type);
  const bool is_root = operation.comm->rank == operation.root;
  if (parts.out == 0) return Submission(operation.comm, operation.stream).End();
  if (operation.kind == Kind::kBroadcast && !is_root) {
    return EnqueueBroadcastOfOthers(operation, together);
  }
  if (operation.kind == Kind::kScatter && !is_root) {
    Submission submission(operation.comm, operation.stream);
    AppendZeros(&submission, operation.stream, NameOf(operation.kind), operation.receive, bytes);
    return submission.End();
  }
  auto round = RoundOf(operation, parts);
  round->comm = operation.comm;
  round->count = operation.count;
  const auto most = static_cast<size_t>(std::max(parts.in, parts.out));
  if (bytes <= operation.comm->slot_bytes / most) {
    return EnqueueStaged(operation, std::move(round));
  }
  return EnqueueLarge(operation, *round);
}

ncclResult_t EnqueueTransfersAlone(const std::vector<Operation>& operations) {
  const Operation& first = operations.front();
  Submission submission(first.comm, first.stream);
  for (size_t i = 0; i < operations.size(); ++i) {
    const Operation& receive = operations[i];
    if (receive.kind != Kind::kReceive || receive.root == first.comm->rank) continue;
    const size_t bytes = MessageBytes(receive);
    const Operation* send = FindSubstitute(operations, i);
    if (send == nullptr) {
      AppendZeros(&submission, first.stream, NameOf(receive.kind), receive.receive, bytes);
    } else {
      AppendCopy(&submission, receive, send->send, bytes);
    }
  }
  return submission.End();
}

}  // namespace vramstow::simulator
