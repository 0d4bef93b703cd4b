// Runs the middle step of each round (a piece of an operation's data): a host function that
// exchanges the data with other ranks (operation.h). It runs on the driver's thread.
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "simulator/runtime/libraries/common/driver_function.h"
#include "simulator/runtime/libraries/nccl/operation.h"
#include "simulator/runtime/libraries/nccl/reduction.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {
namespace {

// At the end of a function that runs a round (a piece of an operation's data), decrements the count
// of pending work and deletes the round, unless it is part of a graph. This happens however the
// function returns.
template <typename Round>
class RunningRound {
 public:
  explicit RunningRound(Round* round) : round_(round) {}
  ~RunningRound() {
    if (!round_->once) return;
    ncclComm* comm = round_->comm;
    delete round_;
    comm->pending.fetch_sub(1);
  }
  RunningRound(const RunningRound&) = delete;
  RunningRound& operator=(const RunningRound&) = delete;

 private:
  Round* round_;
};

bool Continues(ncclComm* comm, WaitResult result) {
  switch (result) {
    case WaitResult::kDone:
      return true;
    case WaitResult::kAborted:
      return false;
    case WaitResult::kPeerGone:
      Fail(comm, ncclRemoteError,
           "rank " + std::to_string(comm->board->FindGone()) +
               " has died or left while others wait for it; their data stay as they are.");
      return false;
    case WaitResult::kMismatch:
      Fail(comm, ncclInvalidUsage,
           "the ranks have called different operations, or with different counts, types or roots.");
      return false;
  }
  return false;
}

bool IsReduction(Kind kind) {
  return kind == Kind::kAllReduce || kind == Kind::kReduce || kind == Kind::kReduceScatter;
}

// Returns the index of the first part in another rank's slot that is for this rank.
int PartInSlot(const CollectiveRound& round) {
  const bool addressed = round.kind == Kind::kReduceScatter || round.kind == Kind::kAllToAll ||
                         round.kind == Kind::kScatter;
  return addressed ? round.comm->rank : 0;
}

// Called if a round has no result. The copies to the device that are queued behind it cannot be
// taken back, so the staging memory gets the bytes that the device has, and the copies change
// nothing. The program may have freed the memory, so the kernel reads it for us: it returns an
// error where a load would fault.
void KeepData(const std::vector<ResultPiece>& results) {
  static const auto shadow_of = [] {
    decltype(&vramstowSimulatorShadow) function = nullptr;
    FindDriverFunction("vramstowSimulatorShadow", &function);
    return function;
  }();
  const int64_t shadow = shadow_of == nullptr ? 0 : shadow_of();
  if (shadow == 0) return;  // the device stores nothing
  for (const ResultPiece& piece : results) {
    const iovec to = {piece.staged, piece.bytes};
    const iovec from = {reinterpret_cast<void*>(static_cast<int64_t>(piece.to) + shadow),
                        piece.bytes};
    process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  }
}

void Collect(const CollectiveRound& round) {
  ncclComm* comm = round.comm;
  const size_t bytes = round.count * BytesOf(round.type);
  const size_t offset = static_cast<size_t>(PartInSlot(round)) * bytes;
  if (round.parts.out == 0) return;
  if (IsReduction(round.kind)) {
    std::vector<const void*> inputs;
    for (int rank = 0; rank < comm->ranks; ++rank) {
      inputs.push_back(comm->board->Slot(rank) + offset);
    }
    Reduce(round.type, round.reduction, inputs, round.count, comm->staging_out);
    return;
  }
  for (int part = 0; part < round.parts.out; ++part) {
    const int source = round.parts.out > 1 ? part : round.root;
    memcpy(comm->staging_out + static_cast<size_t>(part) * bytes,
           comm->board->Slot(source) + offset, bytes);
  }
}

// Exchanges the data of a round. Returns false if it has no result.
bool Exchange(const CollectiveRound& round) {
  ncclComm* comm = round.comm;
  SharedSegment& board = *comm->board;
  if (comm->result != ncclSuccess || board.aborted()) return false;
  const RoundTag tag = {static_cast<uint32_t>(round.kind), static_cast<uint32_t>(round.type),
                        round.count, round.root, static_cast<int32_t>(round.reduction)};
  if (!Continues(comm, board.BeginRound())) return false;
  const size_t elements = round.count * static_cast<size_t>(round.parts.in);
  memcpy(board.OwnSlot(), comm->staging_in, elements * BytesOf(round.type));
  if (round.scaled) {
    const void* scalar = round.scalar_on_device ? comm->scalar : round.scalar;
    Scale(round.type, scalar, elements, board.OwnSlot());
  }
  board.Publish(tag);
  if (!Continues(comm, board.WaitForSlots(tag))) return false;
  Collect(round);
  board.EndRound();
  return true;
}

bool Exchange(const TransferRound& round) {
  ncclComm* comm = round.comm;
  SharedSegment& board = *comm->board;
  if (comm->result != ncclSuccess || board.aborted()) return false;
  const auto ranks = static_cast<size_t>(comm->ranks);
  std::vector<int> needed;
  for (size_t peer = 0; peer < ranks; ++peer) {
    if (round.send[peer] + round.receive[peer] > 0) needed.push_back(static_cast<int>(peer));
  }
  std::vector<size_t> sent(ranks, 0);
  std::vector<size_t> received(ranks, 0);
  const auto progress = [&] {
    bool all = true;
    for (const int rank : needed) {
      const auto peer = static_cast<size_t>(rank);
      const size_t at = peer * board.ring_bytes();
      sent[peer] +=
          board.Send(rank, comm->staging_in + at + sent[peer], round.send[peer] - sent[peer]);
      received[peer] += board.Receive(rank, comm->staging_out + at + received[peer],
                                      round.receive[peer] - received[peer]);
      all = all && sent[peer] == round.send[peer] && received[peer] == round.receive[peer];
    }
    return all;
  };
  return Continues(comm, board.Wait(needed, progress));
}

template <typename Round>
void RunRound(void* argument) {
  auto* round = static_cast<Round*>(argument);
  const RunningRound<Round> running(round);
  if (!Exchange(*round)) KeepData(round->results);
}

}  // namespace

void RunCollective(void* argument) { RunRound<CollectiveRound>(argument); }

void RunTransfers(void* argument) { RunRound<TransferRound>(argument); }

}  // namespace vramstow::simulator
