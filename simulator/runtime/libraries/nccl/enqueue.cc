#include <algorithm>
#include <deque>
#include <memory>

#include "simulator/runtime/libraries/nccl/absent.h"
#include "simulator/runtime/libraries/nccl/operation.h"
#include "simulator/runtime/libraries/nccl/reduction.h"
#include "simulator/runtime/libraries/nccl/submission.h"
#include "simulator/runtime/libraries/nccl/work_log_scope.h"

namespace vramstow::simulator {

Parts PartsOf(const Operation& operation) {
  const int ranks = operation.comm->ranks;
  const bool is_root = operation.comm->rank == operation.root;
  switch (operation.kind) {
    case Kind::kAllReduce:
      return {1, 1, 1};
    case Kind::kReduce:
      return {1, is_root ? 1 : 0, 1};
    case Kind::kBroadcast:
      return {is_root ? 1 : 0, 1, 1};
    case Kind::kAllGather:
      return {1, ranks, ranks};
    case Kind::kReduceScatter:
      return {ranks, 1, ranks};
    case Kind::kAllToAll:
      return {ranks, ranks, ranks};
    case Kind::kGather:
      return {1, is_root ? ranks : 0, ranks};
    case Kind::kScatter:
      return {is_root ? ranks : 0, 1, ranks};
    case Kind::kSend:
    case Kind::kReceive:
      break;
  }
  return {};
}

std::unique_ptr<CollectiveRound> RoundOf(const Operation& operation, const Parts& parts) {
  auto round = std::make_unique<CollectiveRound>();
  round->kind = operation.kind;
  round->parts = parts;
  round->type = operation.type;
  round->root = operation.root;
  round->reduction = operation.reduction;
  if (operation.reduction >= ncclNumOps) {
    const auto index = static_cast<size_t>(operation.reduction - ncclNumOps);
    const PreMultiplication& scale = operation.comm->operations[index];
    round->reduction = ncclSum;
    round->scaled = true;
    round->scalar_on_device = scale.on_device;
    std::copy_n(scale.scalar, sizeof(scale.scalar), round->scalar);
  }
  return round;
}

CUdeviceptr DeviceScalarOf(const Operation& operation) {
  const auto index = static_cast<size_t>(operation.reduction - ncclNumOps);
  return operation.comm->operations[index].device_scalar;
}

namespace {

template <typename Round>
void RunAndCopyBack(Submission* submission, std::unique_ptr<Round> round, CUhostFn function) {
  const std::vector<ResultPiece> results = round->results;
  submission->Run(std::move(round), function);
  for (const ResultPiece& piece : results) submission->Out(piece.to, piece.staged, piece.bytes);
}

ncclResult_t EnqueueCollective(const Operation& operation, const std::vector<Operation>& together) {
  ncclComm* comm = operation.comm;
  if (comm->alone) return EnqueueAlone(operation, together);
  const Parts parts = PartsOf(operation);
  const size_t element = BytesOf(operation.type);
  const size_t chunk = comm->slot_bytes / static_cast<size_t>(parts.most) / element;
  Submission submission(comm, operation.stream);
  for (size_t begin = 0; begin < operation.count; begin += chunk) {
    const size_t count = std::min(chunk, operation.count - begin);
    const auto at = [&](int part) {
      return (static_cast<size_t>(part) * operation.count + begin) * element;
    };
    const auto staged = [&](int part) { return static_cast<size_t>(part) * count * element; };
    auto round = RoundOf(operation, parts);
    round->count = count;
    if (round->scaled && round->scalar_on_device) {
      submission.In(comm->scalar, DeviceScalarOf(operation), element);
    }
    for (int part = 0; part < parts.in; ++part) {
      submission.In(comm->staging_in + staged(part), operation.send + at(part), count * element);
    }
    for (int part = 0; part < parts.out; ++part) {
      round->results.push_back(
          {operation.receive + at(part), comm->staging_out + staged(part), count * element});
    }
    RunAndCopyBack(&submission, std::move(round), RunCollective);
  }
  return submission.End();
}

// The bytes that one rank sends to another, or receives from it, in the order of the calls.
class ByteStream {
 public:
  void Add(CUdeviceptr address, size_t bytes) {
    if (bytes > 0) pieces_.push_back({address, bytes});
  }
  bool empty() const { return pieces_.empty(); }

  // Removes up to `most` bytes and calls action(address, offset in the removed bytes, bytes) for
  // each piece.
  template <typename Action>
  size_t Take(size_t most, const Action& action) {
    size_t taken = 0;
    while (taken < most && !pieces_.empty()) {
      Piece& piece = pieces_.front();
      const size_t bytes = std::min(piece.bytes, most - taken);
      action(piece.address, taken, bytes);
      taken += bytes;
      piece.address += bytes;
      piece.bytes -= bytes;
      if (piece.bytes == 0) pieces_.pop_front();
    }
    return taken;
  }

 private:
  struct Piece {
    CUdeviceptr address;
    size_t bytes;
  };
  std::deque<Piece> pieces_;
};

// Copies the messages that a rank sends to itself; no other rank takes part.
ncclResult_t CopyOwn(ncclComm* comm, ByteStream* from, ByteStream* to, Submission* submission) {
  ncclResult_t result = ncclSuccess;
  from->Take(SIZE_MAX, [&](CUdeviceptr source, size_t, size_t bytes) {
    size_t done = 0;
    to->Take(bytes, [&](CUdeviceptr target, size_t offset, size_t part) {
      submission->Within(target, source + offset, part);
      done += part;
    });
    if (done != bytes) result = ncclInvalidUsage;
  });
  if (!to->empty() || result != ncclSuccess) {
    return Fail(comm, ncclInvalidUsage,
                "what a rank sends to itself and receives from itself in one group differs.");
  }
  return result;
}

ncclResult_t EnqueueTransfers(const std::vector<Operation>& operations) {
  ncclComm* comm = operations.front().comm;
  const auto ranks = static_cast<size_t>(comm->ranks);
  std::vector<ByteStream> sends(ranks);
  std::vector<ByteStream> receives(ranks);
  for (const Operation& operation : operations) {
    const size_t bytes = operation.count * BytesOf(operation.type);
    const auto peer = static_cast<size_t>(operation.root);
    if (operation.kind == Kind::kSend) sends[peer].Add(operation.send, bytes);
    if (operation.kind == Kind::kReceive) receives[peer].Add(operation.receive, bytes);
  }
  Submission submission(comm, operations.front().stream);
  const auto own = static_cast<size_t>(comm->rank);
  const ncclResult_t result = CopyOwn(comm, &sends[own], &receives[own], &submission);
  if (result != ncclSuccess) return result;
  if (comm->alone) {
    const ncclResult_t queued = submission.End();
    return queued == ncclSuccess ? EnqueueTransfersAlone(operations) : queued;
  }
  const size_t ring = comm->board->ring_bytes();
  const auto pending = [](const ByteStream& stream) { return !stream.empty(); };
  while (std::any_of(sends.begin(), sends.end(), pending) ||
         std::any_of(receives.begin(), receives.end(), pending)) {
    auto round = std::make_unique<TransferRound>();
    for (size_t peer = 0; peer < ranks; ++peer) {
      uint8_t* staging = comm->staging_in + peer * ring;
      round->send.push_back(sends[peer].Take(ring, [&](CUdeviceptr from, size_t at, size_t bytes) {
        submission.In(staging + at, from, bytes);
      }));
    }
    for (size_t peer = 0; peer < ranks; ++peer) {
      uint8_t* staging = comm->staging_out + peer * ring;
      round->receive.push_back(
          receives[peer].Take(ring, [&](CUdeviceptr to, size_t at, size_t bytes) {
            round->results.push_back({to, staging + at, bytes});
          }));
    }
    RunAndCopyBack(&submission, std::move(round), RunTransfers);
  }
  return submission.End();
}

}  // namespace

ncclResult_t Enqueue(const std::vector<Operation>& operations) {
  const WorkLogScope work_log(operations);
  ncclResult_t result = ncclSuccess;
  std::vector<std::pair<std::pair<ncclComm*, CUstream>, std::vector<Operation>>> transfers;
  for (const Operation& operation : operations) {
    if (operation.kind != Kind::kSend && operation.kind != Kind::kReceive) {
      const ncclResult_t one = EnqueueCollective(operation, operations);
      if (result == ncclSuccess) result = one;
      continue;
    }
    const auto key = std::make_pair(operation.comm, operation.stream);
    auto together = std::find_if(transfers.begin(), transfers.end(),
                                 [&](const auto& entry) { return entry.first == key; });
    if (together == transfers.end()) {
      transfers.push_back({key, {}});
      together = transfers.end() - 1;
    }
    together->second.push_back(operation);
  }
  for (const auto& together : transfers) {
    const ncclResult_t one = EnqueueTransfers(together.second);
    if (result == ncclSuccess) result = one;
  }
  return result;
}

}  // namespace vramstow::simulator
