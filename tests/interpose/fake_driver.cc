// A small driver library that replaces libcuda.so.1: it returns numbers as addresses of memory, and
// logs every call that reaches it. So a test can compare the calls that the interposer passes on
// with those that the program made.
//
// FAKE_CALL_LOG names the file for the calls, with one line "symbol result address bytes" for each.
// FAKE_RESULT makes every hooked call fail with that number. With FAKE_PRIVATE=1 cuGetProcAddress
// returns an address for cuMemAlloc that the library does not export. With FAKE_MODEL_CLOCK=1 it
// has a virtual clock; each query advances it by 60 microseconds and counts 1,000 more bytes over
// the link to the host.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/core/runtime/cuda_abi.h"

namespace {

enum class Id {
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  k##symbol,
#include "interpose/shim/hooks.def"
};

template <Id id>
struct Tag {};

void Log(const char* symbol, int result, unsigned long long address, unsigned long long bytes) {
  static const int file = [] {
    const char* path = std::getenv("FAKE_CALL_LOG");
    return path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }();
  if (file < 0) return;
  char line[160];
  const int length =
      std::snprintf(line, sizeof line, "%s %d 0x%llx %llu\n", symbol, result, address, bytes);
  if (write(file, line, static_cast<size_t>(length)) != length) std::abort();
}

int ForcedResult() {
  static const int result = [] {
    const char* text = std::getenv("FAKE_RESULT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return result;
}

std::atomic<unsigned long long> next_address{0x7f0000000000};
thread_local CUcontext current_context = nullptr;
std::atomic<int> primary_references{0};
CUcontext const kPrimaryContext = reinterpret_cast<CUcontext>(0xc0);
CUcontext const kOtherContext = reinterpret_cast<CUcontext>(0xc1);

struct Served {
  CUresult result = CUDA_SUCCESS;
  unsigned long long address = 0;
  unsigned long long bytes = 0;
};

template <typename Pointer>
Served Give(Pointer* place, unsigned long long bytes) {
  // 512 MiB is more than the device has.
  if (bytes >= 512ull << 20) return {CUDA_ERROR_OUT_OF_MEMORY, 0, bytes};
  const unsigned long long address = next_address.fetch_add((bytes + 0xffff) & ~0xffffull);
  // The size of the pointer type decides how many bytes are written: fewer for a CUdeviceptr_v1.
  constexpr size_t kBytes = sizeof(Pointer);  // NOLINT(bugprone-sizeof-expression)
  if (place != nullptr) std::memcpy(place, &address, kBytes);
  return {CUDA_SUCCESS, kBytes == 4 ? address & 0xffffffffu : address, bytes};
}

// A handle is the requested name. A query about a handle of the other kind, or about one that was
// never returned, ends the process, as it may with a real driver.
struct Handles {
  const char* kind;
  std::atomic<const void*> known[8] = {};
};
Handles functions = {"function"};
Handles kernels = {"kernel"};

template <typename Handle>
Served HandOut(Handles& handles, Handle* place, const char* name) {
  if (place == nullptr) return {};
  std::memcpy(place, &name, sizeof name);
  for (auto& known : handles.known) {
    const void* none = nullptr;
    if (known == name || known.compare_exchange_strong(none, name)) break;
  }
  return {};
}

CUresult NameOf(const Handles& handles, const char** name, const void* handle) {
  for (const auto& known : handles.known) {
    if (known != handle) continue;
    *name = static_cast<const char*>(handle);
    return CUDA_SUCCESS;
  }
  std::fprintf(stderr, "the driver was asked about a %s that is none\n", handles.kind);
  std::abort();
}

// Serves every function without an own definition below: it accepts any arguments and does nothing.
template <Id id, typename... Arguments>
Served Serve(Tag<id>, Arguments...) {
  return {};
}

Served Serve(Tag<Id::kcuMemAlloc_v2>, CUdeviceptr* dptr, size_t bytes) { return Give(dptr, bytes); }
Served Serve(Tag<Id::kcuMemAlloc>, CUdeviceptr_v1* dptr, unsigned int bytes) {
  return Give(dptr, bytes);
}
// Calls its own exported function, as a library does that was not linked with -Bsymbolic.
Served Serve(Tag<Id::kcuMemAllocPitch_v2>, CUdeviceptr* dptr, size_t* pitch, size_t width,
             size_t height, unsigned int) {
  const size_t row = (width + 511) & ~size_t{511};
  if (pitch != nullptr) *pitch = row;
  auto* exported =
      reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t)>(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
  Served served;
  CUdeviceptr address = 0;
  served.result = exported(&address, row * height);
  if (dptr != nullptr) *dptr = address;
  served.address = address;
  served.bytes = row * height;
  return served;
}
Served Serve(Tag<Id::kcuMemFree_v2>, CUdeviceptr dptr) {
  errno = EXDEV;  // the driver changes errno here, not vramstow
  if (dptr == 0xbad) return {CUDA_ERROR_INVALID_VALUE, dptr, 0};
  if (dptr == 0xc4a5) raise(SIGSEGV);  // a driver that crashes
  if (dptr == 0xdead) return {CUDA_ERROR_DEINITIALIZED, dptr, 0};
  return {CUDA_SUCCESS, dptr, 0};
}
Served Serve(Tag<Id::kcuMemAllocAsync>, CUdeviceptr* dptr, size_t bytes, CUstream) {
  return Give(dptr, bytes);
}
Served Serve(Tag<Id::kcuMemAllocAsync_ptsz>, CUdeviceptr* dptr, size_t bytes, CUstream) {
  return Give(dptr, bytes);
}
Served Serve(Tag<Id::kcuMemHostAlloc>, void** pp, size_t bytes, unsigned int) {
  return Give(pp, bytes);
}
Served Serve(Tag<Id::kcuMemCreate>, CUmemGenericAllocationHandle* handle, size_t bytes,
             const CUmemAllocationProp*, unsigned long long) {
  return Give(handle, bytes);
}
Served Serve(Tag<Id::kcuMemAddressReserve>, CUdeviceptr* ptr, size_t bytes, size_t, CUdeviceptr,
             unsigned long long) {
  return Give(ptr, bytes);
}
Served Serve(Tag<Id::kcuArrayCreate_v2>, CUarray* array, const CUDA_ARRAY_DESCRIPTOR*) {
  return Give(array, 1);
}
Served Serve(Tag<Id::kcuMemGetInfo_v2>, size_t* free_bytes, size_t* total_bytes) {
  if (free_bytes != nullptr) *free_bytes = 1000;
  if (total_bytes != nullptr) *total_bytes = 2000;
  return {};
}
Served Serve(Tag<Id::kcuCtxCreate_v4>, CUcontext* context, CUctxCreateParams*, unsigned int,
             CUdevice) {
  if (context != nullptr) *context = current_context = kOtherContext;
  return {};
}
Served Serve(Tag<Id::kcuDevicePrimaryCtxRetain>, CUcontext* context, CUdevice) {
  ++primary_references;
  if (context != nullptr) *context = kPrimaryContext;
  return {};
}
Served Serve(Tag<Id::kcuDevicePrimaryCtxRelease_v2>, CUdevice) {
  --primary_references;
  return {};
}
Served Serve(Tag<Id::kcuLaunchKernel>, CUfunction, unsigned int x, unsigned int, unsigned int,
             unsigned int, unsigned int, unsigned int, unsigned int, CUstream, void**, void**) {
  return {x == 0xbad ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS, 0, 0};
}
Served Serve(Tag<Id::kcuModuleGetFunction>, CUfunction* function, CUmodule, const char* name) {
  return HandOut(functions, function, name);
}
Served Serve(Tag<Id::kcuLibraryGetKernel>, CUkernel* kernel, CUlibrary, const char* name) {
  return HandOut(kernels, kernel, name);
}
Served Serve(Tag<Id::kcuGetExportTable>, const void** table, const CUuuid*) {
  if (table != nullptr) *table = &next_address;
  return {};
}

CUresult GetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags);

Served Serve(Tag<Id::kcuGetProcAddress>, const char* symbol, void** pfn, int version,
             cuuint64_t flags) {
  return {GetProcAddress(symbol, pfn, version, flags), 0, 0};
}
Served Serve(Tag<Id::kcuGetProcAddress_v2>, const char* symbol, void** pfn, int version,
             cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
  const CUresult result = GetProcAddress(symbol, pfn, version, flags);
  if (status != nullptr) {
    *status =
        result == CUDA_SUCCESS ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return {result, 0, 0};
}

template <Id id, typename... Arguments>
CUresult Handle(const char* symbol, Arguments... arguments) {
  Served served;
  if (ForcedResult() != 0 && id != Id::kcuInit && id != Id::kcuGetProcAddress_v2) {
    served.result = static_cast<CUresult>(ForcedResult());
  } else {
    served = Serve(Tag<id>{}, arguments...);
  }
  Log(symbol, served.result, served.address, served.bytes);
  return served.result;
}

}  // namespace

#define VRAMSTOW_WITHOUT_BRACKETS(...) __VA_ARGS__
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI symbol parameters {          \
    return Handle<Id::k##symbol>(#symbol, VRAMSTOW_WITHOUT_BRACKETS arguments);                   \
  }
#include "interpose/shim/hooks.def"

namespace {

CUresult PrivateAlloc(CUdeviceptr* dptr, size_t bytes) { return cuMemAlloc_v2(dptr, bytes); }
// A form of the function that no table can contain: it has other arguments and another meaning.
CUresult AllocOfTheFuture(int, CUdeviceptr*, size_t) {
  Log("cuMemAlloc_v9", 0, 0, 0);
  return CUDA_SUCCESS;
}

struct Row {
  const char* name;
  int version;
  bool per_thread;
  void* address;
};
#define VRAMSTOW_STREAM_legacy false
#define VRAMSTOW_STREAM_ptsz true
const Row kRows[] = {
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  {#name, version, VRAMSTOW_STREAM_##stream, reinterpret_cast<void*>(&symbol)},
#include "interpose/shim/hooks.def"
};

// A function that is in no table, at the address of one that is hooked: a linker may merge
// functions with identical code.
constexpr char kTwin[] = "cuTwinOfMemAlloc";

// Returns the highest version up to the requested one, of the requested kind of stream, as the
// driver does.
CUresult GetProcAddress(const char* symbol, void** pfn, int version, cuuint64_t flags) {
  if (symbol == nullptr || pfn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pfn = nullptr;
  if (*symbol == '\0') return CUDA_SUCCESS;
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (std::strcmp(symbol, "cuMemAlloc") == 0) {
    if (version >= 90000) {
      *pfn = reinterpret_cast<void*>(AllocOfTheFuture);
      return CUDA_SUCCESS;
    }
    if (std::getenv("FAKE_PRIVATE") != nullptr && version >= 3020) {
      *pfn = reinterpret_cast<void*>(PrivateAlloc);
      return CUDA_SUCCESS;
    }
  }
  if (std::strcmp(symbol, kTwin) == 0) {
    *pfn = reinterpret_cast<void*>(&cuMemAlloc_v2);
    return CUDA_SUCCESS;
  }
  int best = -1;
  for (const Row& row : kRows) {
    if (std::strcmp(row.name, symbol) != 0 || row.version > version) continue;
    if (row.per_thread && !per_thread) continue;
    const int fit = row.version * 2 + (row.per_thread == per_thread ? 1 : 0);
    if (fit > best) {
      best = fit;
      *pfn = row.address;
    }
  }
  return best < 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) CUresult CUDAAPI cuFuncGetName(const char** name,
                                                                      CUfunction function) {
  return NameOf(functions, name, function);
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuKernelGetName(const char** name,
                                                                        CUkernel kernel) {
  return NameOf(kernels, name, kernel);
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuDeviceGetCount(int* count) {
  *count = 2;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuDeviceGet(CUdevice* device, int number) {
  *device = number;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuDeviceGetName(char* name, int size,
                                                                        CUdevice device) {
  std::snprintf(name, static_cast<size_t>(size), "Fake %d", device);
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuDeviceTotalMem_v2(size_t* bytes,
                                                                            CUdevice) {
  *bytes = size_t{512} << 20;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI
cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid,
                                                                           CUdevice device) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(16 * device + i);
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI
cuDevicePrimaryCtxGetState(CUdevice, unsigned int* flags, int* active) {
  *flags = 0;
  *active = primary_references > 0;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  *context = current_context;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  current_context = context;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult CUDAAPI cuCtxGetDevice(CUdevice* device) {
  if (current_context == nullptr) {
    Log("cuCtxGetDevice-without-context", 201, 0, 0);
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  *device = 1;
  return CUDA_SUCCESS;
}
// Streams with odd numbers are being captured.
__attribute__((visibility("default"))) CUresult CUDAAPI
cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = (reinterpret_cast<unsigned long long>(stream) & 1) != 0
                ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) int vramstowSimulatorReadModelClock(uint64_t* clock,
                                                                           size_t size) {
  static const bool has_clock = std::getenv("FAKE_MODEL_CLOCK") != nullptr;
  static std::atomic<uint64_t> questions{0};
  if (!has_clock || size != 9 * sizeof *clock) return 1;
  const uint64_t asked = ++questions;
  clock[0] = asked * 60'000;
  for (size_t i = 1; i < 8; ++i) clock[i] = asked * 1000 * i;
  clock[8] = clock[0] + 7;
  return 0;
}
}
