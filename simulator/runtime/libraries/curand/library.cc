// Implements cuRAND's pseudo-random generators on the device; their numbers are not computed
// (common/left_out.h). Quasi-random generators and generators on the host are refused.
//
// Names and constants are those of NVIDIA's curand.h, restated so that the build needs no further
// headers. cuRAND has no status "not supported", so refused calls return
// CURAND_STATUS_INTERNAL_ERROR.
#include <cuda.h>
#include <library_types.h>

#include <new>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/left_out.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"

namespace vramstow::simulator {

const LibraryIdentity kLibrary = {"cuRAND", 999, "CURAND_STATUS_INTERNAL_ERROR"};
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("curand_generate");

namespace {

enum Status {
  kSuccess = 0,
  kNotInitialized = 101,
  kAllocationFailed = 102,
  kTypeError = 103,
  kOutOfRange = 104,
  kLengthNotMultiple = 105,
  kLaunchFailure = 201,
  kInitializationFailed = 203,
  kInternalError = 999,
};

constexpr int kFirstPseudo = 100;
constexpr int kFirstQuasi = 200;
constexpr uint64_t kMagic = 0x646e6172'75632020;

struct Generator {
  uint64_t magic = kMagic;
  CUstream stream = nullptr;
  uint64_t seed = 0;
  uint64_t first = 0;
};

Generator* Checked(void* generator) {
  auto* checked = static_cast<Generator*>(generator);
  return checked != nullptr && checked->magic == kMagic ? checked : nullptr;
}

int Create(void** generator, int type) {
  if (generator == nullptr) return kNotInitialized;
  if (type < kFirstPseudo || type >= kFirstQuasi) return kTypeError;
  if (EnsureContext() != CUDA_SUCCESS) return kInitializationFailed;
  auto* created = new (std::nothrow) Generator;
  if (created == nullptr) return kAllocationFailed;
  *generator = created;
  return kSuccess;
}

// The argument words of the kernel are the bytes of a number, the output's address, the count, the
// seed, and the index of the first number.
int Produce(void* handle, size_t number_bytes, void* output, size_t count) {
  Generator* generator = Checked(handle);
  if (generator == nullptr) return kNotInitialized;
  if (count == 0) return kSuccess;
  if (output == nullptr) return kOutOfRange;
  const uint64_t words[] = {number_bytes, reinterpret_cast<uint64_t>(output), count,
                            generator->seed, generator->first};
  generator->first += count;
  const WorkSize size = {static_cast<int64_t>(count), 1, 1};
  if (LaunchWork("curand_generate", generator->stream, size, words, 5) != CUDA_SUCCESS) {
    return kLaunchFailure;
  }
  LeaveOut("curand_generate", generator->stream, {{output, count * number_bytes}});
  return kSuccess;
}

// Normal numbers are made in pairs, so cuRAND accepts only an even count.
template <typename T>
int ProduceNormal(void* handle, T* output, size_t count) {
  if (count % 2 != 0) return kLengthNotMultiple;
  return Produce(handle, sizeof(T), output, count);
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

#define VRAMSTOW_CURAND extern "C" __attribute__((visibility("default")))

VRAMSTOW_CURAND int curandGetVersion(int* version) {
  if (version == nullptr) return kOutOfRange;
  *version = kCurandVersion.major * 1000 + kCurandVersion.minor * 100 + kCurandVersion.patch;
  return kSuccess;
}

VRAMSTOW_CURAND int curandGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr || type < MAJOR_VERSION || type > PATCH_LEVEL) return kOutOfRange;
  const int parts[] = {kCurandVersion.major, kCurandVersion.minor, kCurandVersion.patch};
  *value = parts[type];
  return kSuccess;
}

VRAMSTOW_CURAND int curandCreateGenerator(void** generator, int rng_type) {
  return Create(generator, rng_type);
}
VRAMSTOW_CURAND int curandCreateGeneratorHost(void** /*generator*/, int /*rng_type*/) {
  LogOnStderr("cuRAND's generators on the host are not simulated; they are refused.");
  return kInternalError;
}

VRAMSTOW_CURAND int curandDestroyGenerator(void* generator) {
  Generator* checked = Checked(generator);
  if (checked == nullptr) return kNotInitialized;
  checked->magic = 0;
  delete checked;
  return kSuccess;
}

VRAMSTOW_CURAND int curandSetStream(void* generator, CUstream stream) {
  Generator* checked = Checked(generator);
  if (checked == nullptr) return kNotInitialized;
  checked->stream = stream;
  return kSuccess;
}

VRAMSTOW_CURAND int curandSetPseudoRandomGeneratorSeed(void* generator, unsigned long long seed) {
  Generator* checked = Checked(generator);
  if (checked == nullptr) return kNotInitialized;
  checked->seed = seed;
  checked->first = 0;
  return kSuccess;
}

VRAMSTOW_CURAND int curandSetGeneratorOffset(void* generator, unsigned long long offset) {
  Generator* checked = Checked(generator);
  if (checked == nullptr) return kNotInitialized;
  checked->first = offset;
  return kSuccess;
}

// The stand-in has only one ordering, so the setting is ignored.
VRAMSTOW_CURAND int curandSetGeneratorOrdering(void* generator, int /*order*/) {
  return Checked(generator) == nullptr ? kNotInitialized : kSuccess;
}

VRAMSTOW_CURAND int curandGenerateSeeds(void* generator) {
  return Checked(generator) == nullptr ? kNotInitialized : kSuccess;
}

VRAMSTOW_CURAND int curandGenerate(void* generator, unsigned* output, size_t num) {
  return Produce(generator, sizeof *output, output, num);
}
VRAMSTOW_CURAND int curandGenerateLongLong(void* generator, unsigned long long* output,
                                           size_t num) {
  return Produce(generator, sizeof *output, output, num);
}
VRAMSTOW_CURAND int curandGenerateUniform(void* generator, float* output, size_t num) {
  return Produce(generator, sizeof *output, output, num);
}
VRAMSTOW_CURAND int curandGenerateUniformDouble(void* generator, double* output, size_t num) {
  return Produce(generator, sizeof *output, output, num);
}
VRAMSTOW_CURAND int curandGenerateNormal(void* generator, float* output, size_t n, float /*mean*/,
                                         float /*stddev*/) {
  return ProduceNormal(generator, output, n);
}
VRAMSTOW_CURAND int curandGenerateNormalDouble(void* generator, double* output, size_t n,
                                               double /*mean*/, double /*stddev*/) {
  return ProduceNormal(generator, output, n);
}
VRAMSTOW_CURAND int curandGenerateLogNormal(void* generator, float* output, size_t n,
                                            float /*mean*/, float /*stddev*/) {
  return ProduceNormal(generator, output, n);
}
VRAMSTOW_CURAND int curandGenerateLogNormalDouble(void* generator, double* output, size_t n,
                                                  double /*mean*/, double /*stddev*/) {
  return ProduceNormal(generator, output, n);
}
