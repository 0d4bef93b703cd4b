#include "tools/doctor/host_trial.h"

#include <cuda.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/host_mapping.h"
#include "tools/doctor/driver_functions.h"
#include "tools/json/json_value.h"
#include "tools/terminal/output.h"

namespace vramstow {
namespace {

constexpr size_t kChunkBytes = size_t{2} << 20;  // the size of the pool's chunks
constexpr size_t kPageBytes = 4096;
constexpr size_t kWordsOfPage = kPageBytes / sizeof(uint32_t);

// Each thread reads the first word x of its page and writes 3x + 1 there.
constexpr char kKernel[] = R"(.version 6.0
.target sm_60
.address_size 64

.visible .entry touch_pages(.param .u64 chunk, .param .u32 pages)
{
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [chunk];
  ld.param.u32 %r1, [pages];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra DONE;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4096;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  mad.lo.s32 %r7, %r6, 3, 1;
  st.global.u32 [%rd4], %r7;
DONE:
  ret;
}
)";

void PrintTrial(const char* key, const JsonValue& value) {
  WriteAll(STDOUT_FILENO, JsonValue::Object({{key, value}}).Dump() + "\n");
}

// The first error of several calls; CUDA_SUCCESS if there was none.
struct Outcome {
  int result = CUDA_SUCCESS;
  const char* call = "";
  bool wrong_data = false;

  bool ok() const { return result == CUDA_SUCCESS && !wrong_data; }
  // True if a later trial would have the same result. A trial that failed because memory or time
  // was short may succeed later.
  bool lasting() const {
    return wrong_data || result == CUDA_ERROR_INVALID_VALUE ||
           result == CUDA_ERROR_INVALID_DEVICE || result == CUDA_ERROR_OPERATING_SYSTEM ||
           result == CUDA_ERROR_NOT_PERMITTED || result == CUDA_ERROR_NOT_SUPPORTED ||
           result == CUDA_ERROR_UNKNOWN || result == DriverFunctions::kNoFunction;
  }
};

class HostTrial {
 public:
  HostTrial(const DriverFunctions& driver, CUdevice device) : driver_(driver), device_(device) {}

  // Compiles the kernel; the device's context must be current.
  Outcome LoadKernel() {
    CUmodule module = nullptr;
    Outcome outcome;
    Do(&outcome, "cuModuleLoadData", &module, static_cast<const void*>(kKernel));
    Do(&outcome, "cuModuleGetFunction", &kernel_, module, static_cast<const char*>("touch_pages"));
    return outcome;
  }

  // Maps a chunk of the device and then a chunk of the host at one address.
  Outcome Try(CUmemLocation host) {
    CUmemLocation here{};
    here.type = CU_MEM_LOCATION_TYPE_DEVICE;
    here.id = device_;
    Outcome outcome;
    CUdeviceptr address = 0;
    Do(&outcome, "cuMemAddressReserve", &address, kChunkBytes, size_t{0}, CUdeviceptr{0}, 0ULL);
    if (!outcome.ok()) return outcome;
    // If a kernel has no effect on memory of the device, the simulated driver was built without
    // kernels.
    outcome = TryChunk(here, address, true);
    if (outcome.wrong_data && driver_.simulated()) {
      kernels_work_ = false;
      outcome = Outcome();
    }
    if (outcome.ok()) outcome = TryChunk(host, address, kernels_work_);
    driver_.Call("cuMemAddressFree", address, kChunkBytes);
    return outcome;
  }

 private:
  template <typename... Arguments>
  void Do(Outcome* outcome, const char* call, Arguments... arguments) {
    if (!outcome->ok()) return;
    outcome->result = driver_.Call(call, arguments...);
    outcome->call = call;
  }

  Outcome TryChunk(CUmemLocation location, CUdeviceptr address, bool launches) {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = location;
    CUmemGenericAllocationHandle handle = 0;
    Outcome outcome;
    Do(&outcome, "cuMemCreate", &handle, kChunkBytes,
       static_cast<const CUmemAllocationProp*>(&properties), 0ULL);
    if (!outcome.ok()) return outcome;
    Do(&outcome, "cuMemMap", address, kChunkBytes, size_t{0}, handle, 0ULL);
    if (outcome.ok()) {
      Use(&outcome, location, address, launches);
      const int unmapped = driver_.Call("cuMemUnmap", address, kChunkBytes);
      if (outcome.ok()) outcome = {unmapped, "cuMemUnmap"};
    }
    const int released = driver_.Call("cuMemRelease", handle);
    if (outcome.ok()) outcome = {released, "cuMemRelease"};
    return outcome;
  }

  // Gives the host access to its own memory, too, if the driver allows that, as the pool does.
  void GiveAccess(Outcome* outcome, CUmemLocation location, CUdeviceptr address) {
    CUmemAccessDesc access[2] = {};
    access[0].location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access[0].location.id = device_;
    access[1].location = location;
    for (CUmemAccessDesc& one : access) one.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const auto* const list = static_cast<const CUmemAccessDesc*>(access);
    if (location.type != CU_MEM_LOCATION_TYPE_DEVICE &&
        driver_.Call("cuMemSetAccess", address, kChunkBytes, list, size_t{2}) == CUDA_SUCCESS) {
      return;
    }
    Do(outcome, "cuMemSetAccess", address, kChunkBytes, list, size_t{1});
  }

  void Use(Outcome* outcome, CUmemLocation location, CUdeviceptr address, bool launches) {
    GiveAccess(outcome, location, address);
    std::vector<uint32_t> words(kChunkBytes / sizeof(uint32_t));
    uint32_t seed = 2463534242;
    for (uint32_t& word : words) word = seed = seed * 1664525 + 1013904223;
    Do(outcome, "cuMemcpyHtoD_v2", address, static_cast<const void*>(words.data()), kChunkBytes);
    unsigned pages = kChunkBytes / kPageBytes;
    void* parameters[] = {&address, &pages};
    constexpr unsigned kThreads = 128;
    if (launches) {
      const CUstream stream = nullptr;
      void** const extra = nullptr;
      Do(outcome, "cuLaunchKernel", kernel_, pages / kThreads, 1U, 1U, kThreads, 1U, 1U, 0U, stream,
         &parameters[0], extra);
      for (size_t i = 0; i < words.size(); i += kWordsOfPage) words[i] = words[i] * 3 + 1;
    }
    Do(outcome, "cuCtxSynchronize");
    std::vector<uint32_t> seen(words.size());
    Do(outcome, "cuMemcpyDtoH_v2", static_cast<void*>(seen.data()), address, kChunkBytes);
    if (outcome->ok()) outcome->wrong_data = seen != words;
  }

  const DriverFunctions& driver_;
  CUdevice device_;
  CUfunction kernel_ = nullptr;
  bool kernels_work_ = true;
};

// Returns the host locations to try. Attributes are given by number, because older headers do not
// name them. A missing attribute proves nothing: memory at a NUMA node of the host exists since
// CUDA 12.2, its attribute since 12.9. The driver refuses a node without processors, so the
// device's own node is tried first, and then the first node.
std::vector<CUmemLocation> PlacesOf(const DriverFunctions& driver, CUdevice device) {
  constexpr int kNearestNode = 134;
  constexpr int kNodeMemory = 141;
  constexpr int kHostMemory = 145;
  const auto ask = [&](int attribute, int unknown) {
    int value = 0;
    return driver.Attribute(attribute, device, &value) ? value : unknown;
  };
  std::vector<CUmemLocation> places;
  const auto add = [&places](int type, int id) {
    CUmemLocation place{};
    place.type = static_cast<CUmemLocationType>(type);
    place.id = id;
    places.push_back(place);
  };
  constexpr int kHost = 2;
  constexpr int kNode = 3;
  if (ask(kHostMemory, 0) != 0) add(kHost, 0);
  if (ask(kNodeMemory, 1) == 0) return places;
  const int node = ask(kNearestNode, 0);
  if (node > 0) add(kNode, node);
  add(kNode, 0);
  return places;
}

std::string SpellPlace(CUmemLocation place) {
  constexpr int kHost = 2;
  return static_cast<int>(place.type) == kHost ? "host" : "node:" + std::to_string(place.id);
}

struct Answer {
  std::string said;
  bool lasting = true;
};

Answer AnswerOf(const DriverFunctions& driver, const Outcome& outcome) {
  if (outcome.wrong_data) return {"no:data that a kernel wrote there did not arrive", true};
  return {std::string("no:") + outcome.call + " gave " + driver.NameOf(outcome.result),
          outcome.lasting()};
}

Answer TryHostOf(const DriverFunctions& driver, CUdevice device) {
  CUcontext context = nullptr;
  const int retained = driver.Call("cuDevicePrimaryCtxRetain", &context, device);
  if (retained != CUDA_SUCCESS) {
    return AnswerOf(driver, {retained, "cuDevicePrimaryCtxRetain"});
  }
  driver.Call("cuCtxSetCurrent", context);
  HostTrial trial(driver, device);
  Outcome outcome = trial.LoadKernel();
  Answer answer = {"no:the driver does not support such memory", true};
  if (!outcome.ok()) {
    answer = AnswerOf(driver, outcome);
  } else {
    for (const CUmemLocation place : PlacesOf(driver, device)) {
      outcome = trial.Try(place);
      answer = outcome.ok() ? Answer{SpellPlace(place), true} : AnswerOf(driver, outcome);
      if (outcome.ok()) break;
    }
  }
  driver.Call("cuDevicePrimaryCtxRelease_v2", device);
  return answer;
}

}  // namespace

int TryHostMappings() {
  // The process that waits for the answer may be ended by Ctrl-C. Then this child process must end,
  // too.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  void* const library = DriverFunctions::Open();
  if (library == nullptr) return 0;
  const DriverFunctions driver(library);
  PrintTrial("library", driver.Path());
  const int init = driver.Call("cuInit", 0U);
  PrintTrial("init", JsonValue::Object({{"result", init}, {"name", driver.NameOf(init)}}));
  if (init != CUDA_SUCCESS) return 0;
  int count = 0;
  driver.Call("cuDeviceGetCount", &count);
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    if (driver.Call("cuDeviceGet", &device, i) != CUDA_SUCCESS) continue;
    const std::string uuid = driver.UuidOf(device);
    if (!FindHostAnswer(std::getenv(kHostMappingVariable), uuid).empty()) continue;
    PrintTrial("trying", uuid);
    const Answer answer = TryHostOf(driver, device);
    PrintTrial("answer", JsonValue::Object(
                             {{"uuid", uuid}, {"said", answer.said}, {"lasting", answer.lasting}}));
  }
  return 0;
}

}  // namespace vramstow
