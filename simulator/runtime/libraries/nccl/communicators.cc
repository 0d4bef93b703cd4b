// Implements NCCL's functions that create, query and destroy communicators.
#include <algorithm>
#include <utility>
#include <vector>

#include "simulator/runtime/libraries/nccl/absent.h"
#include "simulator/runtime/libraries/nccl/group.h"
#include "simulator/runtime/libraries/nccl/rendezvous.h"

namespace vramstow::simulator {
namespace {

// How long an abort waits for running work before it leaks the communicator's memory.
constexpr int kAbortMs = 2000;
constexpr unsigned kConfigMagic = 0xcafebeef;  // NCCL_CONFIG_INITIALIZER

// The processes of the communicator's ranks.
enum class Where {
  kInJob,        // each rank has its own process, which may be absent
  kThisProcess,  // all ranks are in this process
};

ncclResult_t Begin(ncclComm_t* target, int ranks, const ncclUniqueId& id, int rank,
                   const ncclConfig_t* config, Where where = Where::kInJob) {
  if (target == nullptr) return Refused(ncclInvalidArgument);
  *target = nullptr;
  if (ranks < 1 || rank < 0 || rank >= ranks || !IsUniqueId(id) ||
      (config != nullptr && config->magic != kConfigMagic)) {
    return Refused(ncclInvalidArgument);
  }
  ncclComm* comm = NewCommunicator(id, rank, ranks, config);
  if (comm == nullptr) return Refused(ncclUnhandledCudaError);
  comm->alone = ranks > 1 && where == Where::kInJob && OthersAreAbsent();
  *target = comm;
  return SubmitConnection(comm, target, [comm] { return Connect(comm); });
}

bool IsUsable(const ncclComm* comm) {
  return IsCommunicator(comm) && comm->result != ncclInProgress && comm->slot_bytes != 0;
}

// The ranks of the new communicator, as numbers in the old one, in their new order.
struct Membership {
  std::vector<int> members;
  int64_t color = 0;
};

// Connects the new communicator `comm` of the ranks in `membership`, which include this rank. Sets
// its id and its rank first.
ncclResult_t ConnectMembers(const ncclComm* parent, uint64_t number, const Membership& membership,
                            ncclComm* comm) {
  const auto own = std::find(membership.members.begin(), membership.members.end(), parent->rank);
  comm->id = DeriveUniqueId(parent->id, number, membership.color);
  comm->rank = static_cast<int>(own - membership.members.begin());
  comm->ranks = static_cast<int>(membership.members.size());
  comm->alone = parent->alone && comm->ranks > 1;
  return Connect(comm);
}

ncclResult_t Split(ncclComm* parent, uint64_t number, const Fact& own, ncclComm* comm) {
  if (parent->alone) {
    if (comm == nullptr) return ncclSuccess;
    comm->rank = parent->rank;
    comm->ranks = parent->ranks;
    return Fail(comm, ncclInvalidUsage,
                "ncclCommSplit cannot know which ranks have the same color, because they are not "
                "there.");
  }
  std::vector<Fact> all;
  if (parent->board->Exchange(own, &all) != WaitResult::kDone) {
    const char* sentence = "a rank went away while a communicator was being split.";
    return Fail(comm != nullptr ? comm : parent, ncclRemoteError, sentence);
  }
  if (comm == nullptr) return ncclSuccess;
  Membership membership;
  membership.color = own.values[0];
  for (int rank = 0; rank < parent->ranks; ++rank) {
    if (all[static_cast<size_t>(rank)].values[0] == membership.color) {
      membership.members.push_back(rank);
    }
  }
  std::stable_sort(membership.members.begin(), membership.members.end(), [&](int left, int right) {
    return all[static_cast<size_t>(left)].values[1] < all[static_cast<size_t>(right)].values[1];
  });
  return ConnectMembers(parent, number, membership, comm);
}

ncclConfig_t ConfigOf(const ncclComm* parent, const ncclConfig_t* config) {
  ncclConfig_t inherited = NCCL_CONFIG_INITIALIZER;
  if (config != nullptr) {
    const size_t bytes = std::min(config->size, sizeof(inherited));
    std::copy_n(reinterpret_cast<const char*>(config), bytes, reinterpret_cast<char*>(&inherited));
    inherited.size = bytes;
  }
  if (inherited.blocking == NCCL_CONFIG_UNDEF_INT) inherited.blocking = parent->blocking ? 1 : 0;
  return inherited;
}

ncclComm* NewChild(ncclComm* parent, const ncclConfig_t* config) {
  const ContextScope scope(parent->context);
  const ncclConfig_t full = ConfigOf(parent, config);
  return NewCommunicator(parent->id, 0, 1, &full);
}

ncclResult_t End(ncclComm_t comm, int milliseconds) {
  Drain(comm, milliseconds);
  Release(comm);
  return ncclSuccess;
}

// Waits until the attempt to connect the communicator has ended. Returns false if it has not ended
// after kAbortMs. An abort ends the attempt soon.
bool AwaitConnection(const ncclComm* comm) {
  for (int waited = 0; comm->result == ncclInProgress && waited < kAbortMs; ++waited) {
    const timespec pause = {0, 1000000};
    nanosleep(&pause, nullptr);
  }
  return comm->result != ncclInProgress;
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_NCCL_BOTH(ncclResult_t, GetUniqueId, (ncclUniqueId * uniqueId), (uniqueId)) {
  if (uniqueId == nullptr) return ncclInvalidArgument;
  return MakeUniqueId(uniqueId) ? ncclSuccess : ncclSystemError;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommInitRankConfig,
                   (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank,
                    ncclConfig_t* config),
                   (comm, nranks, commId, rank, config)) {
  return Begin(comm, nranks, commId, rank, config);
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommInitRank,
                   (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank),
                   (comm, nranks, commId, rank)) {
  return Begin(comm, nranks, commId, rank, nullptr);
}

// All ranks are given the same list of ids. On one machine the first id is enough.
VRAMSTOW_NCCL_BOTH(ncclResult_t, CommInitRankScalable,
                   (ncclComm_t * newcomm, int nranks, int myrank, int nId, ncclUniqueId* commIds,
                    ncclConfig_t* config),
                   (newcomm, nranks, myrank, nId, commIds, config)) {
  if (nId < 1 || commIds == nullptr) return Refused(ncclInvalidArgument);
  return Begin(newcomm, nranks, commIds[0], myrank, config);
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommInitAll, (ncclComm_t * comm, int ndev, const int* devlist),
                   (comm, ndev, devlist)) {
  const NcclDriver& driver = NcclDriver::Get();
  const CUcontext before = CurrentContext();
  ncclUniqueId id;
  if (comm == nullptr || ndev < 1) return Refused(ncclInvalidArgument);
  if (before == nullptr) return Refused(ncclUnhandledCudaError);
  if (!MakeUniqueId(&id)) return Refused(ncclSystemError);
  StartGroup();
  for (int rank = 0; rank < ndev; ++rank) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    const int ordinal = devlist == nullptr ? rank : devlist[rank];
    if (driver.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS ||
        driver.cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
      Refused(ncclInvalidArgument);
      break;
    }
    const ContextScope scope(context);
    Begin(&comm[rank], ndev, id, rank, nullptr, Where::kThisProcess);
  }
  return EndGroup();
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommSplit,
                   (ncclComm_t comm, int color, int key, ncclComm_t* newcomm, ncclConfig_t* config),
                   (comm, color, key, newcomm, config)) {
  if (newcomm == nullptr || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) {
    return Refused(ncclInvalidArgument);
  }
  *newcomm = nullptr;
  if (!IsUsable(comm)) return Refused(ncclInvalidArgument);
  const uint64_t number = comm->children++;
  const Fact own = {{color, key, 0, 0}};
  ncclComm* child = nullptr;
  if (color != NCCL_SPLIT_NOCOLOR) {
    child = NewChild(comm, config);
    if (child == nullptr) return Refused(ncclUnhandledCudaError);
    *newcomm = child;
  }
  return SubmitConnection(child, newcomm,
                          [comm, number, own, child] { return Split(comm, number, own, child); });
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommShrink,
                   (ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                    ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags),
                   (comm, excludeRanksList, excludeRanksCount, newcomm, config, shrinkFlags)) {
  constexpr int kAbortParent = 1;  // NCCL_SHRINK_ABORT
  if (newcomm == nullptr || excludeRanksList == nullptr || excludeRanksCount < 1) {
    return Refused(ncclInvalidArgument);
  }
  *newcomm = nullptr;
  if (!IsUsable(comm)) return Refused(ncclInvalidArgument);
  if ((shrinkFlags & kAbortParent) != 0) Interrupt(comm);
  Membership membership;
  membership.color = -2;  // a color that no split has
  const int* end = excludeRanksList + excludeRanksCount;
  for (int rank = 0; rank < comm->ranks; ++rank) {
    if (std::find<const int*>(excludeRanksList, end, rank) == end) {
      membership.members.push_back(rank);
    }
  }
  if (std::find<const int*>(excludeRanksList, end, comm->rank) != end) {
    return Refused(ncclInvalidArgument);
  }
  const uint64_t number = comm->children++;
  ncclComm* child = NewChild(comm, config);
  if (child == nullptr) return Refused(ncclUnhandledCudaError);
  *newcomm = child;
  return SubmitConnection(child, newcomm, [comm, number, membership, child] {
    return ConnectMembers(comm, number, membership, child);
  });
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommFinalize, (ncclComm_t comm), (comm)) {
  if (!IsUsable(comm)) return ncclInvalidArgument;
  Drain(comm, -1);
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommDestroy, (ncclComm_t comm), (comm)) {
  if (comm == nullptr) return ncclSuccess;
  if (!IsCommunicator(comm)) return ncclInvalidArgument;
  if (comm->result == ncclInProgress) Abandon(comm);
  return AwaitConnection(comm) ? End(comm, -1) : ncclInternalError;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommAbort, (ncclComm_t comm), (comm)) {
  if (comm == nullptr) return ncclSuccess;
  if (!IsCommunicator(comm)) return ncclInvalidArgument;
  Abandon(comm);
  return AwaitConnection(comm) ? End(comm, kAbortMs) : ncclInternalError;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommRevoke, (ncclComm_t comm, int revokeFlags),
                   (comm, revokeFlags)) {
  if (!IsUsable(comm) || revokeFlags != 0) return ncclInvalidArgument;
  Interrupt(comm);
  return ncclSuccess;
}

// Detects a rank that has died even if no operation waits for it.
VRAMSTOW_NCCL_BOTH(ncclResult_t, CommGetAsyncError, (ncclComm_t comm, ncclResult_t* asyncError),
                   (comm, asyncError)) {
  if (!IsCommunicator(comm) || asyncError == nullptr) return ncclInvalidArgument;
  *asyncError = static_cast<ncclResult_t>(comm->result.load());
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommCount, (const ncclComm_t comm, int* count), (comm, count)) {
  if (!IsCommunicator(comm) || count == nullptr) return ncclInvalidArgument;
  *count = comm->ranks;
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommCuDevice, (const ncclComm_t comm, int* device),
                   (comm, device)) {
  if (!IsCommunicator(comm) || device == nullptr) return ncclInvalidArgument;
  *device = comm->device;
  return ncclSuccess;
}

VRAMSTOW_NCCL_BOTH(ncclResult_t, CommUserRank, (const ncclComm_t comm, int* rank), (comm, rank)) {
  if (!IsCommunicator(comm) || rank == nullptr) return ncclInvalidArgument;
  *rank = comm->rank;
  return ncclSuccess;
}
