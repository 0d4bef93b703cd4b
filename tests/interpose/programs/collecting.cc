// Calls NCCL's collectives on pooled memory: `collecting WAY SCENARIO`. NCCL is a stand-in that
// uses no memory, so that only the calls themselves show which buffers are used.
#include <algorithm>
#include <ctime>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "include/vramstow/vramstow.h"
#include "tests/interpose/programs/collective_calls.h"
#include "tests/interpose/programs/pool_api.h"

#ifndef LINKED
extern "C" CollectiveCalls UseCollectives() { std::_Exit(98); }
#endif

namespace vramstow::host {
namespace {

constexpr size_t kSize = size_t{4} << 20;

PoolApi api;
CollectiveCalls nccl;
void* user_library;  // is loaded only for the way own-scope

// --- Ways ---------------------------------------------------------------------------------------

void* LookUp(void* scope, const std::string& way, const char* name) {
  void* found = way == "dlvsym" ? dlvsym(scope, name, "NCCL_2") : dlsym(scope, name);
  HOST_CHECK(found != nullptr);
  return found;
}

CollectiveCalls OpenUser() {
  user_library = dlopen("libcollective_user.so", RTLD_NOW | RTLD_LOCAL);
  HOST_CHECK(user_library != nullptr);
  return Look<decltype(&UseCollectives)>(user_library, "UseCollectives")();
}

CollectiveCalls Open(const std::string& way) {
  if (way == "linked") return UseCollectives();
  if (way == "own-scope") return OpenUser();
  const bool global = way == "global";
  void* library = dlopen("libnccl.so.2", RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
  HOST_CHECK(library != nullptr);
  void* scope = global ? RTLD_DEFAULT : library;
  CollectiveCalls calls = {};
#define COLLECTIVE(name, parameters, arguments) \
  calls.name = reinterpret_cast<decltype(calls.name)>(LookUp(scope, way, #name));
  COLLECTIVES(COLLECTIVE, COLLECTIVE)
#undef COLLECTIVE
#define GROUP(name) calls.name = reinterpret_cast<decltype(calls.name)>(LookUp(scope, way, #name));
  COLLECTIVE_GROUPS(GROUP)
#undef GROUP
  calls.call_record = Look<collectives::StandInCall* (*)()>(library, "StandInCallRecord")();
  return calls;
}

// --- Shared by the scenarios --------------------------------------------------------------------

constexpr int kAnswer = 5;  // an error, which must be passed on
constexpr int kErrnoBefore = 71;
constexpr int kErrnoAfter = 72;

CUdeviceptr Allocate(size_t size) {
  CUdeviceptr block = 0;
  HOST_CHECK(api.Alloc(&block, size) == CUDA_SUCCESS);
  return block;
}

CUdeviceptr AllocateIn(const char* region, size_t size) {
  HOST_CHECK(vramstow_region_push(region) == VRAMSTOW_OK);
  const CUdeviceptr block = Allocate(size);
  HOST_CHECK(vramstow_region_pop() == VRAMSTOW_OK);
  return block;
}

vramstow_stats Stats() {
  vramstow_stats stats = {};
  HOST_CHECK(vramstow_get_stats(0, &stats, sizeof stats) == VRAMSTOW_OK);
  return stats;
}

using Buffers = std::vector<CUdeviceptr>;

// Returns argument number `place` of a call. The first arguments are the buffers; the other
// arguments have distinct values.
template <typename T>
T ArgumentAt(size_t place, const Buffers& buffers) {
  const uint64_t value = place < buffers.size() ? buffers[place] : 0x1000 + place;
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

// Calls a function. Expects that the library gets all arguments unchanged, and the caller gets the
// library's result and errno.
template <typename... Arguments, size_t... kPlaces>
void Call(int (*function)(Arguments...), const char* name, const Buffers& buffers,
          std::index_sequence<kPlaces...>) {
  nccl.call_record->result = kAnswer;
  nccl.call_record->errno_after = kErrnoAfter;
  errno = kErrnoBefore;
  const int result = function(ArgumentAt<Arguments>(kPlaces, buffers)...);
  HOST_CHECK(errno == kErrnoAfter && nccl.call_record->errno_at_call == kErrnoBefore);
  HOST_CHECK(result == kAnswer);
  HOST_CHECK(std::strcmp(nccl.call_record->name, name) == 0);
  HOST_CHECK(nccl.call_record->count == static_cast<int>(sizeof...(Arguments)));
  for (size_t i = 0; i < sizeof...(Arguments); ++i) {
    HOST_CHECK(nccl.call_record->arguments[i] == ArgumentAt<uint64_t>(i, buffers));
  }
}

struct Collective {
  const char* name;
  size_t buffers;
  void (*call)(const Buffers& buffers);
};

template <typename... Arguments>
constexpr std::index_sequence_for<Arguments...> PlacesOf(int (*)(Arguments...)) {
  return {};
}

#define COLLECTIVE_OF(count, name) \
  {#name, count,                   \
   [](const Buffers& buffers) { Call(nccl.name, #name, buffers, PlacesOf(nccl.name)); }},
#define COLLECTIVE(name, parameters, arguments) COLLECTIVE_OF(2, name)
#define COLLECTIVE_OF_ONE(name, parameters, arguments) COLLECTIVE_OF(1, name)
const Collective kCollectives[] = {COLLECTIVES(COLLECTIVE, COLLECTIVE_OF_ONE)};
#undef COLLECTIVE_OF_ONE
#undef COLLECTIVE
#undef COLLECTIVE_OF

// Submits so much work on other memory that the offloader's clock advances before the next touch.
void LetWorkPass() {
  static const CUdeviceptr other = Allocate(kSize);
  for (int i = 0; i < 64; ++i) HOST_CHECK(api.SetD8(other, 1, 16) == CUDA_SUCCESS);
}

// --- Scenarios ----------------------------------------------------------------------------------

// Prints the addresses of buffers that were used, and of a block beside them that was not.
void Touched() {
  for (const Collective& collective : kCollectives) {
    Buffers buffers;
    for (size_t i = 0; i < collective.buffers; ++i) buffers.push_back(Allocate(kSize));
    const CUdeviceptr beside = Allocate(kSize);
    LetWorkPass();
    // The buffers begin within a block, as a bucket of gradients does.
    for (CUdeviceptr& buffer : buffers) buffer += 512;
    collective.call(buffers);
    for (const CUdeviceptr buffer : buffers) {
      std::printf("used %s %llu\n", collective.name, static_cast<unsigned long long>(buffer));
    }
    std::printf("idle %s %llu\n", collective.name, static_cast<unsigned long long>(beside));
  }
}

// If a collective is called during a capture, the graph may use its buffers again. So these buffers
// must stay.
void Captured() {
  for (const Collective& collective : kCollectives) {
    Buffers buffers;
    for (size_t i = 0; i < collective.buffers; ++i) {
      buffers.push_back(AllocateIn(collective.name, kSize));
    }
    HOST_CHECK(vramstow_offload(collective.name) == VRAMSTOW_OK);
    HOST_CHECK(Stats().offloaded_bytes == collective.buffers * kSize);
    HOST_CHECK(vramstow_resume(collective.name) == VRAMSTOW_OK);
    CUstream stream = nullptr;
    CUgraph graph = nullptr;
    HOST_CHECK(api.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    HOST_CHECK(api.BeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
    collective.call(buffers);
    HOST_CHECK(api.EndCapture(stream, &graph) == CUDA_SUCCESS);
    HOST_CHECK(vramstow_offload(collective.name) == VRAMSTOW_OF_GRAPH);
    HOST_CHECK(Stats().offloaded_bytes == 0);
    HOST_CHECK(api.GraphDestroy(graph) == CUDA_SUCCESS);
  }
}

// Memory moves while the library executes a collective, because the library may allocate and launch
// like any other code.
void Inside() {
  static const CUdeviceptr block = Allocate(kSize);
  nccl.call_record->inside = [] {
    HOST_CHECK(vramstow_offload(nullptr) == VRAMSTOW_OK);
    HOST_CHECK(Stats().offloaded_bytes != 0);
    HOST_CHECK(api.SetD8(block, 1, kSize) == CUDA_SUCCESS);
    HOST_CHECK(api.Free(Allocate(kSize)) == CUDA_SUCCESS);
    HOST_CHECK(vramstow_resume(nullptr) == VRAMSTOW_OK);
  };
  for (const Collective& collective : kCollectives) {
    collective.call(Buffers(collective.buffers, block));
  }
}

// --- Scenarios with quiet times, in which no work uses some blocks. The test sets the GPU's size.

constexpr size_t kState = size_t{8} << 20;
std::vector<vramstow_range> states;
Buffers activations;

// Returns how many bytes of a block are not accessible, according to the driver.
size_t AwayBytesOf(CUdeviceptr block) {
  constexpr size_t kPage = size_t{2} << 20;
  static auto* const get_access = Look<decltype(&cuMemGetAccess)>(api.driver, "cuMemGetAccess");
  const CUmemLocation card = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  size_t bytes = 0;
  for (uint64_t at = 0; at < kState; at += kPage) {
    unsigned long long access = 0;
    const CUresult result = get_access(&access, &card, block + at);
    if (result != CUDA_SUCCESS || access == 0) bytes += kPage;
  }
  return bytes;
}

// Returns how many bytes of the quiet memory are not accessible.
size_t AwayBytes(size_t first = 0, size_t count = 4) {
  size_t bytes = 0;
  for (size_t i = first; i < first + count; ++i) bytes += AwayBytesOf(states[i].address);
  return bytes;
}

void BeginQuiet() {
  HOST_CHECK(vramstow_quiet(states.data(), states.size()) == VRAMSTOW_OK);
  for (int i = 0; i < 10; ++i) LetWorkPass();
}

void EndQuiet() { HOST_CHECK(vramstow_quiet(nullptr, 0) == VRAMSTOW_OK); }

// Allocates more memory than the GPU has, as a forward pass does.
void RunForward() {
  for (int i = 0; i < 6; ++i) {
    activations.push_back(Allocate(kState));
    HOST_CHECK(api.SetD8(activations.back(), 1, kState) == CUDA_SUCCESS);
    LetWorkPass();
  }
}

void RunBackward() {
  for (; !activations.empty(); activations.pop_back()) {
    HOST_CHECK(api.Free(activations.back()) == CUDA_SUCCESS);
    LetWorkPass();
  }
}

// Runs an iteration. Returns how many quiet bytes were not accessible when the GPU was full.
size_t Iterate() {
  BeginQuiet();
  RunForward();
  const size_t away = AwayBytes();
  RunBackward();
  EndQuiet();
  HOST_CHECK(AwayBytes() == 0);
  return away;
}

// Allocates the quiet blocks and runs one iteration. In it, memory is evicted while submissions of
// work are stopped. In the next iteration quiet memory is evicted without a stop (parked).
void StartQuiet() {
  for (int i = 0; i < 4; ++i) states.push_back({Allocate(kState), kState});
  HOST_CHECK(Iterate() == 0);
}

void UseStates() {
  for (const vramstow_range& state : states) kCollectives[0].call({state.address, state.address});
}

// Shows that quiet memory is evicted (parked) in these scenarios if no collective uses it.
void Quiet() {
  StartQuiet();
  HOST_CHECK(Iterate() != 0);
}

// NCCL submits the work of a group when the group ends. Here a quiet time begins before a group
// ends.
void Grouped() {
  StartQuiet();
  HOST_CHECK(nccl.ncclGroupStart() == 0);
  HOST_CHECK(nccl.ncclGroupStart() == 0);
  UseStates();
  nccl.call_record->result = 0;
  HOST_CHECK(nccl.ncclGroupEnd() == 0);  // the inner one submits nothing
  BeginQuiet();
  RunForward();
  HOST_CHECK(AwayBytes() == 0);
  nccl.call_record->inside = [] { HOST_CHECK(AwayBytes() == 0); };
  HOST_CHECK(nccl.ncclGroupEnd() == 0);
  nccl.call_record->inside = nullptr;
  RunBackward();
  EndQuiet();
  HOST_CHECK(Iterate() != 0);
}

// Blocks that no work touches for a while are evicted (parked), too. A group uses one of two such
// blocks.
void GroupedIdle() {
  StartQuiet();
  BeginQuiet();
  RunForward();
  HOST_CHECK(nccl.ncclGroupStart() == 0);
  kCollectives[0].call({activations[0], activations[0] + 512});
  nccl.call_record->result = 0;
  LetWorkPass();
  RunForward();
  HOST_CHECK(AwayBytesOf(activations[1]) != 0);
  HOST_CHECK(AwayBytesOf(activations[0]) == 0);
  HOST_CHECK(nccl.ncclGroupEnd() == 0);
  RunBackward();
  EndQuiet();
}

// A quiet time begins while the library submits a collective's work, as another thread could do.
void QuietInside() {
  StartQuiet();
  nccl.call_record->inside = [] {
    BeginQuiet();
    RunForward();
    HOST_CHECK(AwayBytes(0, 2) == 0);
    HOST_CHECK(AwayBytes(2, 2) != 0);
  };
  kCollectives[0].call({states[0].address, states[1].address + 512});
  nccl.call_record->inside = nullptr;
  RunBackward();
  EndQuiet();
  HOST_CHECK(Iterate() != 0);
}

// Calls every collective with null pointers, and with addresses that belong to no memory.
void Foreign() {
  for (const Collective& collective : kCollectives) {
    collective.call(Buffers(collective.buffers, 0));
    collective.call(Buffers(collective.buffers, ~CUdeviceptr{0}));
  }
}

// Prints the name of the library that defines the function to which the program's look-up has led.
void Plain() {
  Foreign();
  Dl_info about;
  HOST_CHECK(dladdr(reinterpret_cast<void*>(nccl.ncclAllReduce), &about) != 0);
  std::printf("%s\n", std::strrchr(about.dli_fname, '/') + 1);
}

uint64_t ProcessorTime() {
  timespec time = {};
  HOST_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

// Prints how long a call takes if the caller has its own copy of the library. vramstow must look up
// that copy only once, not at each call.
void Often() {
  constexpr uint64_t kCalls = 10000;
  constexpr int kRounds = 20;  // of which the quickest counts, because others use the caches, too
  Foreign();
  uint64_t least = ~uint64_t{0};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t start = ProcessorTime();
    for (uint64_t i = 0; i < kCalls; ++i) {
      nccl.ncclAllReduce(nullptr, nullptr, 0, 0, 0, nullptr, nullptr);
    }
    least = std::min(least, (ProcessorTime() - start) / kCalls);
  }
  std::printf("%llu\n", static_cast<unsigned long long>(least));
}

// Closes the library that calls NCCL and opens it again, several times.
void Reopened() {
  for (int i = 0; i < 3; ++i) {
    Foreign();
    HOST_CHECK(dlclose(user_library) == 0);
    nccl = OpenUser();
  }
  Foreign();
}

}  // namespace
}  // namespace vramstow::host

int main(int argc, char** argv) {
  using namespace vramstow::host;  // NOLINT(google-build-using-namespace): the program is all of it
  HOST_CHECK(argc == 3);
  const std::map<std::string, void (*)()> scenarios = {{"touched", Touched},
                                                       {"captured", Captured},
                                                       {"inside", Inside},
                                                       {"foreign", Foreign},
                                                       {"plain", Plain},
                                                       {"often", Often},
                                                       {"reopened", Reopened},
                                                       {"quiet", Quiet},
                                                       {"grouped", Grouped},
                                                       {"grouped-idle", GroupedIdle},
                                                       {"quiet-inside", QuietInside}};
  HOST_CHECK(scenarios.count(argv[2]) != 0);
  api = StartPoolApi();
  nccl = Open(argv[1]);
  scenarios.at(argv[2])();
  std::printf("done\n");
  return 0;
}
