// Implements launches of kernels and host functions, registered kernels, and occupancy.
#include <string.h>

#include <algorithm>

#include "simulator/driver/arguments.h"
#include "simulator/driver/capture.h"
#include "simulator/driver/host_reads.h"
#include "simulator/driver/host_worker.h"
#include "simulator/driver/module.h"
#include "simulator/driver/newer_functions.h"
#include "simulator/driver/profiler.h"
#include "simulator/driver/stream.h"

namespace vramstow::simulator {
namespace {

// Registered kernels by name. Guarded by the driver's lock; never destroyed.
std::unordered_map<std::string, RegisteredKernel>& RegisteredKernels() {
  static auto* kernels = new std::unordered_map<std::string, RegisteredKernel>;
  return *kernels;
}

// Memory to which the running registered kernel has requested access. Guarded by the driver's lock.
struct Touched {
  std::vector<std::pair<uint64_t, uint64_t>> writes;  // pairs of address and bytes
  const char* origin = nullptr;  // the kernel that did not compute what it reads
};
Touched& TouchedByRegistered() {
  static auto* touched = new Touched;
  return *touched;
}

// A kernel without effect, which only takes time. All launches share one object.
class IdleKernel : public Work {
 public:
  explicit IdleKernel(uint64_t duration_ns) : duration_ns_(duration_ns) {}
  void Run(uint64_t /*time_ns*/) override {}
  uint64_t DurationNs() const override { return duration_ns_; }

 private:
  uint64_t duration_ns_;
};

// A kernel for which a host function was registered.
class HostKernel : public Work {
 public:
  HostKernel(Context* context, const RegisteredKernel& kernel, const Launch& launch)
      : context_(context), kernel_(kernel) {
    std::copy_n(launch.grid, 3, view_.grid);
    std::copy_n(launch.block, 3, view_.block);
    view_.shared_bytes = launch.shared_bytes;
    view_.device = context->device;
    view_.user = kernel.user;
    for (const size_t size : kernel.parameter_sizes) {
      arguments_.Add(size, std::clamp<size_t>(size & (~size + 1), 1, 16));
    }
    arguments_.Copy(launch.parameters, launch.extra);
    view_.parameters = arguments_.pointers();
    view_.parameter_count = kernel.parameter_sizes.size();
  }

  void Run(uint64_t /*time_ns*/) override {
    if (context_->sticky != CUDA_SUCCESS) return;
    ThreadState& thread = CurrentThread();
    const bool before = thread.inside_callback;
    thread.inside_callback = true;
    TouchedByRegistered() = {};
    kernel_.function(&view_);
    thread.inside_callback = before;
    UncomputedRanges& uncomputed = HeldState().machine->contents.uncomputed();
    const Touched& touched = TouchedByRegistered();
    for (const auto& [address, bytes] : touched.writes) {
      if (touched.origin == nullptr) {
        uncomputed.Clear(address, bytes);
      } else {
        uncomputed.Mark(address, bytes, touched.origin);
      }
    }
  }
  uint64_t DurationNs() const override { return kernel_.duration_ns; }

 private:
  Context* context_;
  RegisteredKernel kernel_;
  CopiedArguments arguments_;
  vramstowSimulatorLaunch view_ = {};
};

// Logs a kernel that is not part of an operator in the work log.
void LogLaunch(Machine& machine, const Launch& launch) {
  if (!machine.work_log.is_open() || CurrentThread().held_kernels > 0) return;
  machine.work_log.Write({.size = sizeof(vramstowSimulatorWorkLine),
                          .kind = "kernel",
                          .name = launch.function->name.c_str(),
                          .precision = "-",
                          .operations = 0,
                          .read_bytes = 0,
                          .written_bytes = 0,
                          .items = 0});
}

}  // namespace

std::shared_ptr<Work> MakeLaunchWork(State* state, Context* context, const Launch& launch) {
  const auto& registered = RegisteredKernels();
  if (!registered.empty()) {
    const auto found = registered.find(launch.function->name);
    if (found != registered.end()) {
      return std::make_shared<HostKernel>(context, found->second, launch);
    }
  }
  const Machine& machine = *state->machine;
  static const auto* idle =
      new std::shared_ptr<Work>(std::make_shared<IdleKernel>(machine.KernelNs()));
  static const auto* held =
      new std::shared_ptr<Work>(std::make_shared<IdleKernel>(machine.spec().kernel_time_ns));
  // A library computes the results of these kernels on the host, so computing them here would
  // repeat the work.
  if (CurrentThread().held_kernels > 0 || CurrentThread().trials > 0) return *held;
  if (std::shared_ptr<Work> work = EmulateLaunch(state, context, launch)) return work;
  HostReads::Global().NoteIdleLaunch();
  return *idle;
}

CUresult CheckLaunch(Call& call, const Launch& launch) {
  const Card& card = call.machine().card();
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (launch.grid[i] == 0 || launch.block[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    threads *= launch.block[i];
  }
  constexpr unsigned kGridYz = 65535;
  if (launch.grid[0] > 2147483647u || launch.grid[1] > kGridYz || launch.grid[2] > kGridYz ||
      launch.block[0] > 1024 || launch.block[1] > 1024 || launch.block[2] > 64) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const int* attributes = launch.function->attributes;
  if (threads > static_cast<uint64_t>(attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK])) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto shared =
      static_cast<unsigned>(std::min(attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES],
                                     card.shared_per_block_optin_bytes));
  return launch.shared_bytes > shared ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

namespace {

CUresult LaunchOn(const char* name, CUfunction handle, Launch launch, CUstream stream_handle) {
  return Serve(name, Needs::kContext, [&](Call& call) {
    launch.function = FindLaunched(handle);
    launch.by_kernel = FindFunctionHandle(handle) == nullptr;
    Stream* stream = FindStream(call, stream_handle);
    if (launch.function == nullptr || stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result = CheckLaunch(call, launch);
    if (result != CUDA_SUCCESS) return result;
    if (stream->capture != nullptr) return CaptureLaunch(call, stream, launch);
    const CUresult implicit = RefuseImplicit(call, stream);
    if (implicit != CUDA_SUCCESS) return implicit;
    LogLaunch(call.machine(), launch);
    if (CurrentThread().held_kernels == 0) {
      call.machine().timeline.Advance(call.machine().model.LaunchNs());
    }
    Submit(call, stream,
           Observed(call, *stream, MakeLaunchWork(&call.state(), stream->context, launch),
                    [&] { return DescribeLaunch(launch); }));
    return CUDA_SUCCESS;
  });
}

Launch Shape(const unsigned (&grid)[3], const unsigned (&block)[3], unsigned shared_bytes,
             void** parameters, void** extra) {
  Launch launch;
  std::copy_n(grid, 3, launch.grid);
  std::copy_n(block, 3, launch.block);
  launch.shared_bytes = shared_bytes;
  launch.parameters = parameters;
  launch.extra = extra;
  return launch;
}

// Returns how many blocks of a kernel fit on a multiprocessor, limited by threads, registers and
// shared memory.
int BlocksPerMultiprocessor(const Card& card, const Function& function, int block_size,
                            size_t shared_bytes) {
  constexpr int kWarp = 32;
  constexpr int kRegisters = 65536;
  const int warps = (block_size + kWarp - 1) / kWarp;
  int blocks =
      std::min(card.blocks_per_multiprocessor, card.threads_per_multiprocessor / (warps * kWarp));
  const int registers = function.attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] * warps * kWarp;
  if (registers > 0) blocks = std::min(blocks, kRegisters / registers);
  const size_t shared = shared_bytes + function.attributes[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] +
                        card.shared_reserved_per_block_bytes;
  if (shared > 0) {
    blocks = std::min<int>(blocks, static_cast<int>(card.shared_per_multiprocessor_bytes / shared));
  }
  return std::max(blocks, 0);
}

}  // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                        unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                        unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                        void** parameters, void** extra) {
  return LaunchOn(
      "cuLaunchKernel", function,
      Shape({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, parameters, extra),
      stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return LaunchOn("cuLaunchKernelEx", function,
                  Shape({config->gridDimX, config->gridDimY, config->gridDimZ},
                        {config->blockDimX, config->blockDimY, config->blockDimZ},
                        config->sharedMemBytes, parameters, extra),
                  config->hStream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared_bytes, CUstream stream,
                                   void** parameters) {
  return LaunchOn("cuLaunchCooperativeKernel", function,
                  Shape({grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                        parameters, nullptr),
                  stream);
}

CUresult cuLaunchHostFunc(CUstream stream_handle, CUhostFn function, void* user) {
  return Serve("cuLaunchHostFunc", Needs::kContext, [&](Call& call) {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = FindStream(call, stream_handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture != nullptr) return CaptureHostFunction(call, stream, function, user);
    Submit(call, stream, std::make_shared<HostFunction>([function, user] { function(user); }));
    return CUDA_SUCCESS;
  });
}

// The parameter `mode` selects whether the host spins or blocks while it waits for the function. It
// has no effect here.
CUresult cuLaunchHostFunc_v2(CUstream stream, CUhostFn function, void* user, unsigned int mode) {
  constexpr unsigned kSpinningWait = 1;
  if (mode > kSpinningWait) return CUDA_ERROR_INVALID_VALUE;
  return cuLaunchHostFunc(stream, function, user);
}

CUresult cuStreamAddCallback(CUstream stream_handle, CUstreamCallback callback, void* user,
                             unsigned int flags) {
  return Serve("cuStreamAddCallback", Needs::kContext, [&](Call& call) {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    Stream* stream = FindStream(call, stream_handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult refused = RefuseCapturing(call, stream);
    if (refused != CUDA_SUCCESS) return refused;
    const Context* context = stream->context;
    Submit(call, stream,
           std::make_shared<HostFunction>([=] { callback(stream_handle, context->sticky, user); }));
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle,
                                                              int block_size, size_t shared_bytes,
                                                              unsigned int flags) {
  (void)flags;
  return Serve("cuOccupancyMaxActiveBlocksPerMultiprocessor", Needs::kContext, [&](Call& call) {
    const Function* function = FindLaunched(handle);
    if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *blocks = block_size > 1024 ? 0
                                : BlocksPerMultiprocessor(call.machine().card(), *function,
                                                          block_size, shared_bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                     int block_size, size_t shared_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
                                                              shared_bytes, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of, size_t shared,
                                                   int limit, unsigned int flags) {
  (void)flags;
  return Serve("cuOccupancyMaxPotentialBlockSize", Needs::kContext, [&](Call& call) {
    const Function* function = FindLaunched(handle);
    if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const Card& card = call.machine().card();
    const int most = limit > 0 ? std::min(limit, 1024) : 1024;
    int best = 0;
    for (int size = most; size > 0; size -= size % 32 == 0 ? 32 : size % 32) {
      const size_t bytes = shared_of != nullptr ? shared_of(size) : shared;
      const int blocks = BlocksPerMultiprocessor(card, *function, size, bytes);
      if (blocks * size <= best) continue;
      best = blocks * size;
      *block = size;
      *grid = blocks * card.multiprocessors;
    }
    return best > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize shared_of, size_t shared, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of, shared, limit,
                                                   0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks,
                                                 int block_size) {
  (void)block_size;
  return Serve("cuOccupancyAvailableDynamicSMemPerBlock", Needs::kContext, [&](Call& call) {
    const Function* function = FindLaunched(handle);
    if (bytes == nullptr || blocks <= 0) return CUDA_ERROR_INVALID_VALUE;
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const Card& card = call.machine().card();
    const int each =
        card.shared_per_multiprocessor_bytes / blocks - card.shared_reserved_per_block_bytes;
    *bytes = static_cast<size_t>(std::clamp(each, 0, card.shared_per_block_optin_bytes));
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function,
                                            const CUlaunchConfig* config) {
  (void)config;
  return Serve("cuOccupancyMaxPotentialClusterSize", Needs::kContext, [&](Call& call) {
    if (size == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (FindLaunched(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *size = call.machine().card().major >= 9 ? 8 : 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  (void)config;
  return Serve("cuOccupancyMaxActiveClusters", Needs::kContext, [&](Call& call) {
    if (clusters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (FindLaunched(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *clusters = call.machine().card().major >= 9 ? call.machine().card().multiprocessors / 8 : 0;
    return CUDA_SUCCESS;
  });
}

int vramstowSimulatorRegisterKernel(const char* name, vramstowSimulatorKernel function,
                                    const size_t* parameter_sizes, size_t parameter_count,
                                    uint64_t duration_ns, void* user) {
  if (name == nullptr || (parameter_count > 0 && parameter_sizes == nullptr)) return 1;
  try {
    const MutexLock lock(&Globals().mutex);
    if (function == nullptr) {
      RegisteredKernels().erase(name);
      return 0;
    }
    RegisteredKernels()[name] = {
        function, std::vector<size_t>(parameter_sizes, parameter_sizes + parameter_count),
        duration_ns, user};
    return 0;
  } catch (...) {
    return 1;
  }
}

// Registered kernels call this with the lock held; other callers do not hold it.
void* vramstowSimulatorTranslate(uint64_t address, size_t size, int write) {
  if (!Globals().initialized) return nullptr;
  if (!CurrentThread().inside_callback) {
    DriverGlobals& globals = Globals();
    const MutexLock lock(&globals.mutex);
    return globals.state().machine->contents.Translate(address, size, write != 0);
  }
  Contents& contents = HeldState().machine->contents;
  void* bytes = contents.Translate(address, size, write != 0);
  if (bytes == nullptr || contents.uncomputed().empty()) return bytes;
  Touched& touched = TouchedByRegistered();
  if (write != 0) touched.writes.emplace_back(address, size);
  if (write == 0 && touched.origin == nullptr) {
    touched.origin = contents.uncomputed().Find(address, size);
  }
  return bytes;
}

uint64_t vramstowSimulatorTime(void) {
  DriverGlobals& globals = Globals();
  if (!globals.initialized) return 0;
  if (CurrentThread().inside_callback) return HeldState().machine->timeline.now_ns();
  const MutexLock lock(&globals.mutex);
  return globals.state().machine->timeline.now_ns();
}

}  // extern "C"
