#include "simulator/runtime/libraries/common/device.h"

#include <algorithm>
#include <cstring>

#include "base/mutex.h"
#include "simulator/runtime/driver_access.h"

// Macro arguments are types here, which cannot be put in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)

namespace vramstow::simulator {
namespace {

// The driver functions that the stand-ins call, found once. Each row has a name, the CUDA version
// of its ABI, and the function's parameters.
#define VRAMSTOW_DRIVER_FUNCTIONS(X)                                                             \
  X(cuInit, 2000, (unsigned))                                                                    \
  X(cuCtxGetCurrent, 4000, (CUcontext*))                                                         \
  X(cuCtxSetCurrent, 4000, (CUcontext))                                                          \
  X(cuCtxGetDevice, 2000, (CUdevice*))                                                           \
  X(cuDeviceGet, 2000, (CUdevice*, int))                                                         \
  X(cuDeviceGetAttribute, 2000, (int*, CUdevice_attribute, CUdevice))                            \
  X(cuDevicePrimaryCtxRetain, 7000, (CUcontext*, CUdevice))                                      \
  X(cuLibraryLoadData, 12000,                                                                    \
    (CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,         \
     unsigned))                                                                                  \
  X(cuLibraryGetKernel, 12000, (CUkernel*, CUlibrary, const char*))                              \
  X(cuLaunchKernel, 4000,                                                                        \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, \
     void**, void**))                                                                            \
  X(cuMemAlloc, 3020, (CUdeviceptr*, size_t))                                                    \
  X(cuMemFree, 3020, (CUdeviceptr))                                                              \
  X(cuMemsetD8Async, 3020, (CUdeviceptr, unsigned char, size_t, CUstream))                       \
  X(cuMemcpyDtoHAsync, 3020, (void*, CUdeviceptr, size_t, CUstream))                             \
  X(cuMemcpy2DAsync, 3020, (const CUDA_MEMCPY2D*, CUstream))                                     \
  X(cuStreamSynchronize, 2000, (CUstream))                                                       \
  X(cuStreamIsCapturing, 10000, (CUstream, CUstreamCaptureStatus*))

struct DriverFunctions {
#define VRAMSTOW_MEMBER(name, version, parameters) CUresult(*name) parameters = nullptr;
  VRAMSTOW_DRIVER_FUNCTIONS(VRAMSTOW_MEMBER)
#undef VRAMSTOW_MEMBER
  bool complete = true;

  DriverFunctions() {
    const DriverAccess& access = DriverAccess::Get();
#define VRAMSTOW_FIND(name, version, parameters)              \
  name = access.Find<CUresult(*) parameters>(#name, version); \
  complete = complete && name != nullptr;
    VRAMSTOW_DRIVER_FUNCTIONS(VRAMSTOW_FIND)
#undef VRAMSTOW_FIND
  }
};

// The table is leaked, because exit handlers of the host may still call us.
const DriverFunctions& Driver() {
  static const DriverFunctions* functions = new DriverFunctions;
  return *functions;
}

constexpr CUresult kNoDriver = CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;

// The library's module and the kernels that were requested so far.
class KernelCache {
 public:
  static KernelCache& Get() {
    static KernelCache* cache = new KernelCache;
    return *cache;
  }

  CUresult Find(const char* name, CUkernel* kernel) {
    const MutexLock lock(&mutex_);
    for (size_t i = 0; i < count_; ++i) {
      if (strcmp(entries_[i].name, name) == 0) {
        *kernel = entries_[i].kernel;
        return CUDA_SUCCESS;
      }
    }
    if (library_ == nullptr) {
      CUresult result = Driver().cuLibraryLoadData(&library_, kKernelModule, nullptr, nullptr, 0,
                                                   nullptr, nullptr, 0);
      if (result != CUDA_SUCCESS) {
        library_ = nullptr;
        return result;
      }
    }
    CUresult result = Driver().cuLibraryGetKernel(kernel, library_, name);
    if (result == CUDA_SUCCESS && count_ < kMaximum) {
      entries_[count_++] = {name, *kernel};
    }
    return result;
  }

 private:
  static constexpr size_t kMaximum = 128;
  struct Entry {
    const char* name;  // a literal of the stand-in
    CUkernel kernel;
  };

  Mutex mutex_;
  CUlibrary library_ VRAMSTOW_GUARDED_BY(mutex_) = nullptr;
  size_t count_ VRAMSTOW_GUARDED_BY(mutex_) = 0;
  Entry entries_[kMaximum] VRAMSTOW_GUARDED_BY(mutex_) = {};
};

unsigned Tiles(int64_t extent, int64_t limit) {
  return static_cast<unsigned>(std::clamp<int64_t>((extent + 127) / 128, 1, limit));
}

}  // namespace

CUresult EnsureContext() {
  const DriverFunctions& driver = Driver();
  if (!driver.complete) {
    return kNoDriver;
  }
  CUcontext context = nullptr;
  CUresult result = driver.cuCtxGetCurrent(&context);
  if (result == CUDA_ERROR_NOT_INITIALIZED) {
    result = driver.cuInit(0);
    if (result == CUDA_SUCCESS) {
      result = driver.cuCtxGetCurrent(&context);
    }
  }
  if (result != CUDA_SUCCESS || context != nullptr) {
    return result;
  }
  CUdevice device = 0;
  result = driver.cuDeviceGet(&device, 0);
  if (result == CUDA_SUCCESS) {
    result = driver.cuDevicePrimaryCtxRetain(&context, device);
  }
  return result == CUDA_SUCCESS ? driver.cuCtxSetCurrent(context) : result;
}

// Returns an attribute of the current context's device.
static CUresult Attribute(CUdevice_attribute attribute, int* value) {
  CUresult result = EnsureContext();
  CUdevice device = 0;
  if (result == CUDA_SUCCESS) {
    result = Driver().cuCtxGetDevice(&device);
  }
  return result == CUDA_SUCCESS ? Driver().cuDeviceGetAttribute(value, attribute, device) : result;
}

CUresult ComputeCapability(int* capability) {
  int major = 0;
  int minor = 0;
  CUresult result = Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major);
  if (result == CUDA_SUCCESS) {
    result = Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor);
  }
  if (result == CUDA_SUCCESS) {
    *capability = 10 * major + minor;
  }
  return result;
}

CUresult ProcessorCount(int* processors) {
  return Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, processors);
}

CUresult LaunchWork(const char* name, CUstream stream, const WorkSize& size, const uint64_t* words,
                    size_t count) {
  CUresult result = EnsureContext();
  if (result != CUDA_SUCCESS) {
    return result;
  }
  CUkernel kernel = nullptr;
  result = KernelCache::Get().Find(name, &kernel);
  if (result != CUDA_SUCCESS) {
    return result;
  }
  uint64_t arguments[kArgumentWords] = {};
  size_t bytes = sizeof(arguments);
  memcpy(arguments, words, std::min(count, kArgumentWords) * sizeof(uint64_t));
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, arguments, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  return Driver().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), Tiles(size.rows, 0x7fffffff),
                                 Tiles(size.columns, 65535),
                                 static_cast<unsigned>(std::clamp<int64_t>(size.batch, 1, 65535)),
                                 128, 1, 1, 0, stream, nullptr, extra);
}

CUresult AllocateDeviceMemory(CUdeviceptr* address, size_t bytes) {
  CUresult result = EnsureContext();
  return result == CUDA_SUCCESS ? Driver().cuMemAlloc(address, bytes) : result;
}

CUresult FreeDeviceMemory(CUdeviceptr address) {
  return Driver().complete ? Driver().cuMemFree(address) : kNoDriver;
}

CUresult ClearDeviceMemory(CUdeviceptr address, size_t bytes, CUstream stream) {
  return Driver().complete ? Driver().cuMemsetD8Async(address, 0, bytes, stream) : kNoDriver;
}

CUresult CopyDeviceToHost(void* host, CUdeviceptr device, size_t bytes, CUstream stream) {
  return Driver().complete ? Driver().cuMemcpyDtoHAsync(host, device, bytes, stream) : kNoDriver;
}

CUresult Copy2D(const CUDA_MEMCPY2D& copy, CUstream stream) {
  CUresult result = EnsureContext();
  return result == CUDA_SUCCESS ? Driver().cuMemcpy2DAsync(&copy, stream) : result;
}

CUresult SynchronizeStream(CUstream stream) {
  return Driver().complete ? Driver().cuStreamSynchronize(stream) : kNoDriver;
}

bool IsCapturing(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return Driver().complete && Driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace vramstow::simulator

// NOLINTEND(bugprone-macro-parentheses)
