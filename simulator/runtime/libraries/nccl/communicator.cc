#include "simulator/runtime/libraries/nccl/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

#include "simulator/runtime/libraries/common/driver_function.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/nccl/rendezvous.h"
#include "simulator/simulator_api.h"

namespace vramstow::simulator {
namespace {

constexpr uint64_t kCommunicatorMagic = 0x6d6d6f63'6c63636e;
constexpr int kBufferBytes = 4 << 20;
constexpr int kChannels = 16;
// Device memory of a communicator. It has three arrays for each of 64 channels, and two more
// arrays. Each array has physical memory of its own (2 MiB).
constexpr size_t kStateBytes = size_t{3 * 64 + 2} * (2 << 20);
// Device memory of a communicator if NCCL does not use cuMem functions. Then the arrays share
// pages.
constexpr size_t kSmallStateBytes = 4 << 20;
constexpr int kTimeoutSeconds = 600;
constexpr size_t kScalarBytes = 64;

// Returns a positive number from an environment variable, as NCCL reads its own variables. Returns
// `otherwise` if there is none.
int Setting(const char* name, int otherwise, int most) {
  const char* text = getenv(name);
  if (text == nullptr) return otherwise;
  const long value = strtol(text, nullptr, 10);
  return value > 0 ? static_cast<int>(std::min<long>(value, most)) : otherwise;
}

// Returns the size of a rank's slot. It is the requested size, but at least some bytes for each
// rank.
size_t SlotBytes(int ranks) {
  const auto asked = static_cast<size_t>(Setting("NCCL_BUFFSIZE", kBufferBytes, 1 << 28));
  return std::max(asked, static_cast<size_t>(ranks) * 4096) / 4096 * 4096;
}

bool HasField(const ncclConfig_t& config, const int& field) {
  const auto end =
      reinterpret_cast<const char*>(&field + 1) - reinterpret_cast<const char*>(&config);
  return static_cast<size_t>(end) <= config.size && field != NCCL_CONFIG_UNDEF_INT;
}

ncclResult_t SetUp(ncclComm* comm) {
  const NcclDriver& driver = NcclDriver::Get();
  const ContextScope scope(comm->context);
  const size_t slot = comm->slot_bytes;
  void* staging = nullptr;
  if (driver.cuMemHostAlloc(&staging, 2 * slot + kScalarBytes, CU_MEMHOSTALLOC_PORTABLE) !=
          CUDA_SUCCESS ||
      driver.cuEventCreate(&comm->event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS ||
      driver.cuEventCreate(&comm->capture_event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    return Fail(comm, ncclUnhandledCudaError, "no pinned memory or event for a communicator.");
  }
  comm->staging_in = static_cast<uint8_t*>(staging);
  comm->staging_out = comm->staging_in + slot;
  comm->scalar = comm->staging_out + slot;
  return AllocateBuffers(comm);
}

}  // namespace

bool IsCommunicator(const ncclComm* comm) {
  return comm != nullptr && comm->magic == kCommunicatorMagic;
}

ncclComm* NewCommunicator(const ncclUniqueId& id, int rank, int ranks, const ncclConfig_t* config) {
  const CUcontext context = CurrentContext();
  if (context == nullptr) return nullptr;
  auto* comm = new (std::nothrow) ncclComm;
  if (comm == nullptr) return nullptr;
  comm->magic = kCommunicatorMagic;
  comm->id = id;
  comm->rank = rank;
  comm->ranks = ranks;
  comm->context = context;
  comm->channels = Setting("NCCL_MAX_CTAS", Setting("NCCL_MAX_NCHANNELS", kChannels, 64), 64);
  NcclDriver::Get().cuCtxGetDevice(&comm->device);
  if (config != nullptr) {
    if (HasField(*config, config->blocking)) comm->blocking = config->blocking != 0;
    if (HasField(*config, config->maxCTAs)) comm->channels = std::clamp(config->maxCTAs, 1, 64);
  }
  comm->result = ncclInProgress;
  return comm;
}

namespace {

// Returns a number that is the same for ranks on one GPU. As with NCCL, ranks with different values
// of NCCL_HOSTID are on different machines.
uint64_t IdentifyGpu(int device) {
  decltype(&vramstowSimulatorIdentifyGpu) identify = nullptr;
  FindDriverFunction("vramstowSimulatorIdentifyGpu", &identify);
  const uint64_t gpu = identify == nullptr ? 0 : identify(device);
  const char* host = getenv("NCCL_HOSTID");
  return gpu == 0 || host == nullptr ? gpu : gpu ^ std::hash<std::string>()(host);
}

// Connects the communicator to those of the other ranks that run.
ncclResult_t ConnectToOthers(ncclComm* comm) {
  Rendezvous rendezvous;
  rendezvous.id = comm->id;
  rendezvous.rank = comm->rank;
  rendezvous.ranks = comm->ranks;
  rendezvous.slot_bytes = SlotBytes(comm->ranks);
  rendezvous.timeout_ms = Setting("VRAMSTOW_NCCL_TIMEOUT", kTimeoutSeconds, 86400) * 1000;
  rendezvous.given_up = [comm] { return comm->given_up.load(); };
  std::string problem;
  const int memory = ConnectRanks(rendezvous, &problem);
  if (memory < 0) return Fail(comm, ncclSystemError, problem);
  comm->board.reset(
      SharedSegment::Open(memory, comm->rank, comm->ranks, IdentifyGpu(comm->device)));
  if (comm->board == nullptr) {
    return Fail(comm, ncclSystemError, "the shared memory of a communicator cannot be mapped.");
  }
  comm->slot_bytes = comm->board->slot_bytes();
  if (comm->board->WaitForAll(rendezvous.timeout_ms) != WaitResult::kDone) {
    return Fail(comm, ncclRemoteError, "a rank went away while a communicator was being made.");
  }
  const int other = comm->board->FindOnSameGpu();
  if (other < 0) return ncclSuccess;
  return Fail(comm, ncclInvalidUsage,
              "Duplicate GPU detected: rank " + std::to_string(other) +
                  " uses the same GPU as this rank, which is CUDA device " +
                  std::to_string(comm->device) + ".");
}

}  // namespace

ncclResult_t Connect(ncclComm* comm) {
  ncclResult_t result = ncclSuccess;
  if (comm->alone) {
    comm->slot_bytes = SlotBytes(comm->ranks);
  } else {
    result = ConnectToOthers(comm);
  }
  if (result == ncclSuccess) result = SetUp(comm);
  if (result == ncclSuccess) {
    int expected = ncclInProgress;
    comm->result.compare_exchange_strong(expected, ncclSuccess);
  }
  return result;
}

ncclResult_t AllocateBuffers(ncclComm* comm) {
  if (comm->buffers != 0) return ncclSuccess;
  const auto each = static_cast<size_t>(Setting("NCCL_BUFFSIZE", kBufferBytes, 1 << 28));
  const char* physical = getenv("NCCL_CUMEM_ENABLE");
  const bool shares_pages = physical != nullptr && strcmp(physical, "0") == 0;
  comm->buffer_bytes = (shares_pages ? kSmallStateBytes : kStateBytes) +
                       (comm->ranks > 1 ? each * static_cast<size_t>(comm->channels) : 0);
  const ContextScope scope(comm->context);
  if (NcclDriver::Get().cuMemAlloc(&comm->buffers, comm->buffer_bytes) != CUDA_SUCCESS) {
    comm->buffers = 0;
    return Fail(comm, ncclUnhandledCudaError,
                "no device memory for a communicator's buffers (NCCL_BUFFSIZE, NCCL_MAX_CTAS).");
  }
  return ncclSuccess;
}

void FreeBuffers(ncclComm* comm) {
  if (comm->buffers == 0) return;
  const ContextScope scope(comm->context);
  NcclDriver::Get().cuMemFree(comm->buffers);
  comm->buffers = 0;
}

namespace {

// A sentence, which is never freed, because a program may hold the one that LatestProblem returned.
// There is at most one for each communicator.
struct KeptSentence {
  std::string text;
  KeptSentence* before = nullptr;
};

// Returns the latest sentence; null before the first one.
std::atomic<KeptSentence*>& Latest() {
  static std::atomic<KeptSentence*> sentence{nullptr};
  return sentence;
}

void KeepLatest(const std::string& text) {
  auto* const kept = new KeptSentence{text, Latest().load()};
  while (!Latest().compare_exchange_weak(kept->before, kept)) continue;
}

}  // namespace

const char* LatestProblem() {
  const KeptSentence* latest = Latest().load();
  return latest == nullptr ? "" : latest->text.c_str();
}

ncclResult_t Fail(ncclComm* comm, ncclResult_t result, const std::string& sentence) {
  {
    const MutexLock lock(&comm->mutex);
    if (comm->problem.empty()) {
      comm->problem = sentence;
      KeepLatest(sentence);
      const std::string said = "NCCL, rank " + std::to_string(comm->rank) + " of " +
                               std::to_string(comm->ranks) + ": " + sentence;
      if (!comm->given_up) LogOnStderr(said.c_str());
    }
  }
  int expected = ncclSuccess;
  if (!comm->result.compare_exchange_strong(expected, result) && expected == ncclInProgress) {
    comm->result.compare_exchange_strong(expected, result);
  }
  return result;
}

const char* FirstProblem(ncclComm* comm) {
  const MutexLock lock(&comm->mutex);
  return comm->problem.c_str();
}

namespace {

// True if an operation, also one of a graph that was launched, has not run yet.
bool HasQueuedWork(const ncclComm* comm) {
  return comm->event != nullptr &&
         NcclDriver::Get().cuEventQuery(comm->event) == CUDA_ERROR_NOT_READY;
}

}  // namespace

bool Drain(ncclComm* comm, int milliseconds) {
  const ContextScope scope(comm->context);
  for (int waited = 0; milliseconds < 0 || waited < milliseconds; ++waited) {
    if (HasQueuedWork(comm)) {
      usleep(1000);
      continue;
    }
    // Either the event is reached, or the driver has shut down. In the second case queued work does
    // not run any more.
    return comm->pending.load() == 0;
  }
  return false;
}

void Interrupt(ncclComm* comm) {
  if (comm->board != nullptr) {
    comm->board->Abort();
  } else {
    comm->given_up = true;
  }
}

bool IsInterrupted(const ncclComm* comm) {
  return comm->board != nullptr ? comm->board->aborted() : comm->given_up.load();
}

void Abandon(ncclComm* comm) {
  comm->given_up = true;
  Interrupt(comm);
}

void Release(ncclComm* comm) {
  if (comm->board != nullptr) comm->board->Leave();
  comm->magic = 0;
  if (comm->pending.load() != 0) return;  // rounds that have not run still refer to it
  const NcclDriver& driver = NcclDriver::Get();
  FreeBuffers(comm);
  // Rounds of a graph refer to it, too, and the graph may be launched at any time.
  if (comm->capture != 0) return;
  const ContextScope scope(comm->context);
  if (comm->staging_in != nullptr) driver.cuMemFreeHost(comm->staging_in);
  if (comm->event != nullptr) driver.cuEventDestroy(comm->event);
  if (comm->capture_event != nullptr) driver.cuEventDestroy(comm->capture_event);
  delete comm;
}

}  // namespace vramstow::simulator
