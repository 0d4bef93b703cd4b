// Tests the pool on a driver: through CudaDriver and the simulated libcuda.so.1. Kernels write
// patterns when a block is allocated and check them as late as the device allows. A block that is
// reused too early, or mapped wrongly, shows in the data.
//
// Every program runs in a child process of its own, because a driver reads its settings once.
// VRAMSTOW_LONG=1 runs a hundred times as many steps.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "allocator/core/cuda_driver.h"
#include "allocator/pool/pool.h"
#include "base/units.h"
#include "simulator/simulator_api.h"

namespace vramstow {
namespace {

void* Resolve(void* library, const char* name) { return dlsym(library, name); }

void Die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::_Exit(1);
}

void Check(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) Die(std::string(what) + " gave " + std::to_string(result));
}

// --- Kernels -------------------------------------------------------------------------------------

decltype(&vramstowSimulatorTranslate) g_translate;
std::atomic<uint64_t> g_checked{0};
std::atomic<uint64_t> g_wrong{0};

// Visits one word in every 64 KiB and the last word: enough to detect any overlap of blocks.
template <typename Visit>
void VisitWords(const vramstowSimulatorLaunch* launch, Visit visit) {
  const auto address = *static_cast<uint64_t*>(launch->parameters[0]);
  const auto size = *static_cast<uint64_t*>(launch->parameters[1]);
  const auto value = *static_cast<uint64_t*>(launch->parameters[2]);
  auto* bytes = static_cast<char*>(g_translate(address, size, 1));
  if (bytes == nullptr) {
    ++g_wrong;
    return;
  }
  for (uint64_t at = 0; at + 16 <= size; at += 64 * kKiB)
    visit(reinterpret_cast<uint64_t*>(bytes + at), value + at);
  visit(reinterpret_cast<uint64_t*>(bytes + size - 8), ~value);
}

void WriteKernel(const vramstowSimulatorLaunch* launch) {
  VisitWords(launch, [](uint64_t* word, uint64_t value) { *word = value; });
}

void CheckKernel(const vramstowSimulatorLaunch* launch) {
  VisitWords(launch, [](uint64_t* word, uint64_t value) {
    if (*word != value) ++g_wrong;
  });
  ++g_checked;
}

// --- The device of one process -------------------------------------------------------------------

class Device {
 public:
  explicit Device(const std::string& spec, CudaDriver::Resolve resolve = Resolve) {
    setenv("VRAMSTOW_SIMULATE", spec.c_str(), 1);
    library_ = dlopen(VRAMSTOW_SIMULATED_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) Die(dlerror());
    Find(&init_, "cuInit");
    Find(&retain_, "cuDevicePrimaryCtxRetain");
    Find(&set_current_, "cuCtxSetCurrent");
    Find(&stream_create_, "cuStreamCreate");
    Find(&event_create_, "cuEventCreate");
    Find(&event_record_, "cuEventRecord");
    Find(&stream_wait_, "cuStreamWaitEvent");
    Find(&launch_, "cuLaunchKernel");
    Find(&load_, "cuLibraryLoadData");
    Find(&get_kernel_, "cuLibraryGetKernel");
    Find(&synchronize_, "cuCtxSynchronize");
    Find(&elapsed_, "cuEventElapsedTime");
    Find(&g_translate, "vramstowSimulatorTranslate");
    Check(init_(0), "cuInit");
    Check(retain_(&context_, 0), "cuDevicePrimaryCtxRetain");
    Enter();
    for (CUstream& stream : streams_) {
      Check(stream_create_(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    }
    LoadKernels();
    if (!driver_.Open(resolve, library_, 0, context_)) Die(driver_.missing());
  }

  void Enter() { Check(set_current_(context_), "cuCtxSetCurrent"); }
  const DriverTable* table() const { return driver_.table(); }
  CUstream stream(uint64_t number) const { return streams_[number]; }
  uint64_t name(uint64_t number) const { return reinterpret_cast<uint64_t>(streams_[number]); }
  CUevent NewEvent() {
    CUevent event = nullptr;
    Check(event_create_(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    return event;
  }
  void Record(CUevent event, CUstream stream) { Check(event_record_(event, stream), "record"); }
  void Wait(CUstream stream, CUevent event) { Check(stream_wait_(stream, event, 0), "wait"); }
  void Write(uint64_t address, uint64_t size, uint64_t value, CUstream stream) {
    Launch(write_, address, size, value, stream);
  }
  void Verify(uint64_t address, uint64_t size, uint64_t value, CUstream stream, bool slow) {
    Launch(slow ? slow_check_ : check_, address, size, value, stream);
  }
  void Synchronize() { Check(synchronize_(), "cuCtxSynchronize"); }
  CUstream NewBlockingStream() {
    CUstream stream = nullptr;
    Check(stream_create_(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
    return stream;
  }
  // Returns the seconds of the GPU's virtual clock from the end of the work submitted before the
  // body until the end of the work that the body submits.
  template <typename Body>
  double SecondsOf(CUstream stream, Body body) {
    CUevent events[2];
    for (CUevent& event : events) {
      Check(event_create_(&event, CU_EVENT_DEFAULT), "cuEventCreate");
      Record(event, stream);
      if (&event == &events[0]) body();
    }
    Synchronize();
    float milliseconds = 0;
    Check(elapsed_(&milliseconds, events[0], events[1]), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) / 1000;
  }

  static constexpr uint64_t kStreams = 4;

 private:
  template <typename Function>
  void Find(Function* function, const char* name) {
    *function = reinterpret_cast<Function>(dlsym(library_, name));
    if (*function == nullptr) Die(std::string("the driver lacks ") + name);
  }

  void LoadKernels() {
    decltype(&vramstowSimulatorRegisterKernel) enlist = nullptr;
    Find(&enlist, "vramstowSimulatorRegisterKernel");
    static constexpr size_t kSizes[] = {8, 8, 8};
    enlist("write", WriteKernel, kSizes, 3, 20'000, nullptr);
    enlist("check", CheckKernel, kSizes, 3, 30'000, nullptr);
    enlist("slow_check", CheckKernel, kSizes, 3, 3'000'000, nullptr);
    CUlibrary library = nullptr;
    // A fat binary without members; the simulator finds a kernel of any name in it.
    static constexpr char kImage[] = "\x50\xed\x55\xba\x01\x00\x10\x00\0\0\0\0\0\0\0";
    Check(load_(&library, kImage, nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData");
    Check(get_kernel_(&write_, library, "write"), "cuLibraryGetKernel");
    Check(get_kernel_(&check_, library, "check"), "cuLibraryGetKernel");
    Check(get_kernel_(&slow_check_, library, "slow_check"), "cuLibraryGetKernel");
  }

  void Launch(CUkernel kernel, uint64_t address, uint64_t size, uint64_t value, CUstream stream) {
    void* parameters[] = {&address, &size, &value};
    Check(launch_(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, stream, parameters,
                  nullptr),
          "cuLaunchKernel");
  }

  void* library_ = nullptr;
  CUcontext context_ = nullptr;
  CUstream streams_[kStreams] = {};
  CUkernel write_ = nullptr;
  CUkernel check_ = nullptr;
  CUkernel slow_check_ = nullptr;
  CudaDriver driver_;
  decltype(&cuInit) init_ = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_ = nullptr;
  decltype(&cuCtxSetCurrent) set_current_ = nullptr;
  decltype(&cuStreamCreate) stream_create_ = nullptr;
  decltype(&cuEventCreate) event_create_ = nullptr;
  decltype(&cuEventRecord) event_record_ = nullptr;
  decltype(&cuStreamWaitEvent) stream_wait_ = nullptr;
  decltype(&cuLaunchKernel) launch_ = nullptr;
  decltype(&cuLibraryLoadData) load_ = nullptr;
  decltype(&cuLibraryGetKernel) get_kernel_ = nullptr;
  decltype(&cuCtxSynchronize) synchronize_ = nullptr;
  decltype(&cuEventElapsedTime) elapsed_ = nullptr;
};

// --- Programs ------------------------------------------------------------------------------------

struct Held {
  uint64_t address;
  uint64_t size;
  uint64_t value;
  uint64_t owner;  // number of the stream, or kStreams for none
  CUevent written;
};

class Program {
 public:
  Program(Device* device, Pool* pool, uint64_t seed, bool forget_uses)
      : device_(device), pool_(pool), random_(seed), seed_(seed), forget_uses_(forget_uses) {}

  void Run(uint64_t steps) {
    for (uint64_t step = 0; step < steps; ++step) {
      const uint64_t dice = random_() % 100;
      if (dice < 40 && live_.size() < 30) {
        Allocate();
      } else if (dice < 65) {
        Verify();
      } else if (dice < 97) {
        Free();
      } else if (dice < 99) {
        pool_->Trim({random_() % (32 * kMiB) + 1, 0});
      } else {
        pool_->Maintain();
      }
    }
    while (!live_.empty()) Free();
  }

 private:
  void Allocate() {
    const uint64_t owner = random_() % (Device::kStreams + 1);
    const uint64_t size =
        (random_() % 3 == 0 ? 1 + random_() % (8 * kMiB) : 1 + random_() % kMiB) + 8;
    BlockRequest request{(size + 7) / 8 * 8};
    if (owner < Device::kStreams) request.stream = device_->name(owner);
    Block block{};
    const PoolError error = pool_->Allocate(request, &block);
    if (error == PoolError::kOutOfMemory) return Free();
    if (error != PoolError::kOk) Die(PoolErrorName(error));
    Held held{block.address, request.size, (seed_ << 48) + (++count_ << 24), owner, nullptr};
    if (events_.empty()) events_.push_back(device_->NewEvent());
    held.written = events_.back();
    events_.pop_back();
    const CUstream stream = device_->stream(owner % Device::kStreams);
    device_->Write(held.address, held.size, held.value, stream);
    device_->Record(held.written, stream);
    live_.push_back(held);
  }

  void Verify() {
    if (live_.empty()) return;
    const Held& held = live_[random_() % live_.size()];
    const uint64_t reader = random_() % Device::kStreams;
    device_->Wait(device_->stream(reader), held.written);
    if (held.owner < Device::kStreams && reader != held.owner && !forget_uses_) {
      if (pool_->RecordUse(held.address, device_->name(reader)) != PoolError::kOk) Die("use");
    }
    device_->Verify(held.address, held.size, held.value, device_->stream(reader),
                    random_() % 8 == 0);
  }

  void Free() {
    if (live_.empty()) return;
    const size_t which = random_() % live_.size();
    if (pool_->Free(live_[which].address) != PoolError::kOk) Die("free");
    events_.push_back(live_[which].written);
    live_[which] = live_.back();
    live_.pop_back();
  }

  Device* device_;
  Pool* pool_;
  std::mt19937_64 random_;
  uint64_t seed_;
  bool forget_uses_;
  uint64_t count_ = 0;
  std::vector<Held> live_;
  std::vector<CUevent> events_;
};

int InChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) std::_Exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

enum class Break { kNothing, kForgetUses, kFencesLie, kStaleMappings };

// Returns 0 if all data was right, 2 if some was not, and 1 if a call failed that should not.
int RunProgram(const std::string& spec, uint64_t seed, uint64_t steps, int threads, Break broken) {
  Device device(spec + ",seed=" + std::to_string(seed));
  static DriverTable table;
  table = *device.table();
  // A query does not make an adversarial device finish anything; a wait does.
  static Device* waited_for;
  waited_for = &device;
  table.pause = [](void*, uint64_t) {
    static std::atomic<uint64_t> pauses{0};
    if (++pauses % 2 == 0) waited_for->Synchronize();
  };
  if (broken == Break::kFencesLie) {
    table.event_query = [](void*, uint64_t) -> DriverResult { return kDriverSuccess; };
  }
  if (broken == Break::kStaleMappings) {
    // Maps every page to the first chunk, as if an old mapping had not been removed.
    static DriverTable honest;
    honest = table;
    table.map = [](void* self, uint64_t address, uint64_t size, uint64_t handle) -> DriverResult {
      static uint64_t first = 0;
      if (first == 0) first = handle;
      return honest.map(self, address, size, first);
    };
  }
  auto pool = std::make_unique<Pool>();
  PoolConfig config;
  config.backing = PoolBacking::kAny;
  config.check = broken == Break::kNothing && threads == 1 && steps < 50'000;
  config.steal_after_ns = 1'000'000;
  config.stitch_wait_ns = 100'000;
  config.last_wait_ns = 2'000'000'000;
  config.decay_ns = 50'000'000;
  // Every other seed uses large chunks.
  if (seed % 2 != 0) config.large_chunk_bytes = 16 * kMiB;
  config.large_chunk_part = 1;
  if (pool->Open(&table, config) != PoolError::kOk) Die("the pool did not open");
  for (uint64_t i = 0; i < Device::kStreams; ++i) pool->NoteStream(device.name(i));
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      device.Enter();
      Program(&device, pool.get(), seed * 16 + static_cast<uint64_t>(t),
              broken == Break::kForgetUses)
          .Run(steps / static_cast<uint64_t>(threads));
    });
  }
  for (std::thread& worker : workers) worker.join();
  device.Synchronize();
  if (broken != Break::kNothing) return g_wrong != 0 ? 2 : 0;
  if (const char* found = pool->Check(); found != nullptr) Die(found);
  if (pool->check_failure() != nullptr) Die(pool->check_failure());
  pool->Close(PoolEnd::kAlive);
  uint64_t free_bytes = 0;
  uint64_t total_bytes = 0;
  table.memory_info(table.self, &free_bytes, &total_bytes);
  if (g_checked == 0) Die("nothing was checked");
  return g_wrong != 0 ? 2 : 0;
}

// A driver before CUDA 12.5 has no event for the whole context.
void* ResolveBefore125(void* library, const char* name) {
  return std::string_view(name) == "cuCtxRecordEvent" ? nullptr : dlsym(library, name);
}

// Tests that a fence of all streams' work does not delay a blocking stream while a kernel runs on
// another stream.
int FenceBesideBlockingStreams() {
  Device device("h200,memory=2GiB", ResolveBefore125);
  auto pool = std::make_unique<Pool>();
  if (pool->Open(device.table(), PoolConfig()) != PoolError::kOk) Die("the pool did not open");
  const CUstream busy = device.NewBlockingStream();
  const CUstream idle = device.NewBlockingStream();
  pool->NoteStream(reinterpret_cast<uint64_t>(busy));
  pool->NoteStream(reinterpret_cast<uint64_t>(idle));
  Block used{};
  Block block{};
  if (pool->Allocate({4 * kMiB}, &used) != PoolError::kOk ||
      pool->Allocate({4 * kMiB}, &block) != PoolError::kOk) {
    Die("no memory");
  }
  device.Write(used.address, used.size, 1, busy);
  const double seconds = device.SecondsOf(idle, [&] {
    device.Verify(used.address, used.size, 1, busy, /*slow=*/true);  // 3 ms
    if (pool->Free(block.address) != PoolError::kOk) Die("free");
    pool->Trim({});
  });
  // The pool has recorded the fence's event before, so the fence completes when the kernel ends.
  const uint64_t before = pool->Stats().reserved_bytes;
  device.Synchronize();
  pool->Trim({});
  if (before != 8 * kMiB || pool->Stats().reserved_bytes != 4 * kMiB) Die("there was no fence");
  return seconds < 0.001 ? 0 : 1;
}

// Tests that a fence of all streams' work includes the work of the legacy stream.
int FenceOfTheLegacyStream() {
  Device device("h200,memory=2GiB", ResolveBefore125);
  auto pool = std::make_unique<Pool>();
  if (pool->Open(device.table(), PoolConfig()) != PoolError::kOk) Die("the pool did not open");
  Block block{};
  if (pool->Allocate({4 * kMiB}, &block) != PoolError::kOk) Die("no memory");
  device.Write(block.address, block.size, 1, nullptr);
  device.Verify(block.address, block.size, 1, nullptr, /*slow=*/true);
  if (pool->Free(block.address) != PoolError::kOk) Die("free");
  pool->Trim({});
  const uint64_t before = pool->Stats().reserved_bytes;
  device.Synchronize();
  pool->Trim({});
  return before == 4 * kMiB && pool->Stats().reserved_bytes == 0 && g_wrong == 0 ? 0 : 1;
}

TEST(PoolOnDriver, WithoutContextEventsAFenceIsNoBarrierBetweenBlockingStreams) {
  EXPECT_EQ(InChild(FenceBesideBlockingStreams), 0);
}

TEST(PoolOnDriver, WithoutContextEventsAFenceCoversTheLegacyStream) {
  EXPECT_EQ(InChild(FenceOfTheLegacyStream), 0);
}

uint64_t Steps() { return std::getenv("VRAMSTOW_LONG") != nullptr ? 500'000 : 5'000; }

TEST(PoolOnTheSimulator, EveryWordIsRightOnEverySeed) {
  const char* specs[] = {
      "a100,memory=256MiB,context=16MiB,order=adversarial",
      "a100,memory=256MiB,context=16MiB",
      "h200,memory=128MiB,context=16MiB,order=adversarial,without=event-context",
      "a100,memory=256MiB,context=16MiB,order=adversarial,without=vmm",
  };
  for (const char* spec : specs) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      EXPECT_EQ(InChild([&] { return RunProgram(spec, seed, Steps(), 1, Break::kNothing); }), 0)
          << spec << ", seed " << seed;
    }
  }
}

TEST(PoolOnTheSimulator, EveryWordIsRightWithThreads) {
  for (const char* without : {"", ",without=vmm"}) {
    const std::string spec =
        std::string("a100,memory=384MiB,context=16MiB,order=adversarial") + without;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      EXPECT_EQ(InChild([&] { return RunProgram(spec, seed, Steps(), 3, Break::kNothing); }), 0)
          << spec << ", seed " << seed;
    }
  }
}

TEST(PoolOnTheSimulator, SurvivesDriverCallsThatFailAtRandom) {
  // cuEventRecord is not in the list, because the programs themselves record events.
  for (const char* call :
       {"cuMemCreate", "cuMemMap", "cuMemUnmap", "cuMemSetAccess", "cuCtxRecordEvent"}) {
    const std::string spec =
        std::string("a100,memory=256MiB,context=16MiB,order=adversarial,fail=") + call + ":p0.02";
    for (const uint64_t seed : {1, 2}) {
      EXPECT_EQ(InChild([&] { return RunProgram(spec, seed, 3'000, 1, Break::kNothing); }), 0)
          << call << ", seed " << seed;
    }
  }
  for (const char* call : {"cuMemAlloc", "cuMemFree", "cuCtxRecordEvent"}) {
    const std::string spec =
        std::string("a100,memory=256MiB,context=16MiB,order=adversarial,without=vmm,fail=") + call +
        ":p0.02";
    EXPECT_EQ(InChild([&] { return RunProgram(spec, 1, 3'000, 1, Break::kNothing); }), 0) << call;
  }
}

// Virtual GPUs and sandboxes refuse memory that other processes may open, with various results; the
// pool then asks for memory without that property.
TEST(PoolOnTheSimulator, MemoryThatOthersMayNotOpenIsVirtualMemoryAllTheSame) {
  for (const char* result : {"1", "101", "304", "800", "801", "999"}) {
    const std::string spec =
        std::string("a100,memory=256MiB,context=16MiB,without=shareable:") + result;
    EXPECT_EQ(InChild([&] {
                Device device(spec);
                auto pool = std::make_unique<Pool>();
                PoolConfig config;
                config.backing = PoolBacking::kAny;
                if (pool->Open(device.table(), config) != PoolError::kOk) return 3;
                Block block{};
                if (pool->Allocate({8 * kMiB}, &block) != PoolError::kOk) return 4;
                return pool->segments() ? 5 : 0;
              }),
              0)
        << result;
  }
}

TEST(PoolOnTheSimulator, BrokenVariantsShowInTheData) {
  const char* spec = "a100,memory=256MiB,context=16MiB,order=adversarial";
  const std::string segments = std::string(spec) + ",without=vmm";
  for (const Break broken : {Break::kForgetUses, Break::kFencesLie}) {
    int noticed = 0;
    for (uint64_t seed = 1; seed <= 6 && noticed == 0; ++seed) {
      noticed = InChild([&] { return RunProgram(segments, seed, 4'000, 1, broken); });
    }
    EXPECT_NE(noticed, 0) << "without virtual memory, variant " << static_cast<int>(broken);
  }
  for (const Break broken : {Break::kForgetUses, Break::kFencesLie, Break::kStaleMappings}) {
    int noticed = 0;
    for (uint64_t seed = 1; seed <= 6 && noticed == 0; ++seed) {
      noticed = InChild([&] { return RunProgram(spec, seed, 4'000, 1, broken); });
    }
    EXPECT_NE(noticed, 0) << "variant " << static_cast<int>(broken);
  }
}

}  // namespace
}  // namespace vramstow
