// cuRAND: pseudo-random generators, on the device and on the host. Quasi-random ones are refused.
//
// Names and constants are as in NVIDIA's curand.h, restated so that the build needs no further
// headers. cuRAND has no status "not supported": what is refused returns
// CURAND_STATUS_INTERNAL_ERROR.
#include <cuda.h>
#include <library_types.h>

#include <bit>
#include <new>

#include "simulator/runtime/libraries/common/device.h"
#include "simulator/runtime/libraries/common/emulation.h"
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/refusal.h"
#include "simulator/runtime/libraries/common/versions.h"
#include "simulator/runtime/libraries/curand/random_numbers.h"

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
};

constexpr int kFirstPseudo = 100;
constexpr int kFirstQuasi = 200;
constexpr uint64_t kMagic = 0x646e6172'75632020;
constexpr uint64_t kDurationNs = 10000;

struct Generator {
  uint64_t magic = kMagic;
  bool on_host = false;
  CUstream stream = nullptr;
  Sequence sequence;
};

Generator* Checked(void* generator) {
  auto* checked = static_cast<Generator*>(generator);
  return checked != nullptr && checked->magic == kMagic ? checked : nullptr;
}

// The kernel's words: kind, output, count, seed, first, mean, deviation.
void RunGenerate(const EmulationLaunch* launch) {
  const uint64_t* words = WordsOf(launch);
  const auto numbers = static_cast<Numbers>(words[0]);
  void* output = DeviceBytes(words[1], words[2] * BytesOf(numbers), true);
  if (output == nullptr) return;
  Generate(numbers,
           {words[3], words[4], std::bit_cast<double>(words[5]), std::bit_cast<double>(words[6])},
           words[2], output);
}

int Create(void** generator, int type, bool on_host) {
  if (generator == nullptr) return kNotInitialized;
  if (type < kFirstPseudo || type >= kFirstQuasi) return kTypeError;
  if (!on_host) {
    if (EnsureContext() != CUDA_SUCCESS) return kInitializationFailed;
    static const bool registered = RegisterEmulation("curand_generate", RunGenerate, kDurationNs);
    static_cast<void>(registered);  // without it outputs stay as they are
  }
  auto* created = new (std::nothrow) Generator;
  if (created == nullptr) return kAllocationFailed;
  created->on_host = on_host;
  *generator = created;
  return kSuccess;
}

int Produce(void* handle, Numbers numbers, void* output, size_t count, double mean = 0,
            double deviation = 1) {
  Generator* generator = Checked(handle);
  if (generator == nullptr) return kNotInitialized;
  if (count == 0) return kSuccess;
  if (output == nullptr) return kOutOfRange;
  Sequence sequence = generator->sequence;
  sequence.mean = mean;
  sequence.deviation = deviation;
  generator->sequence.first += count;
  if (generator->on_host) {
    Generate(numbers, sequence, count, output);
    return kSuccess;
  }
  const uint64_t words[] = {static_cast<uint64_t>(numbers),
                            reinterpret_cast<uint64_t>(output),
                            count,
                            sequence.seed,
                            sequence.first,
                            std::bit_cast<uint64_t>(mean),
                            std::bit_cast<uint64_t>(deviation)};
  const WorkSize size = {static_cast<int64_t>(count), 1, 1};
  const CUresult result = LaunchWork("curand_generate", generator->stream, size, words, 7);
  return result == CUDA_SUCCESS ? kSuccess : kLaunchFailure;
}

// Normal numbers come in pairs: cuRAND takes an even count only.
int ProduceNormal(void* handle, Numbers numbers, void* output, size_t count, double mean,
                  double deviation) {
  if (count % 2 != 0) return kLengthNotMultiple;
  return Produce(handle, numbers, output, count, mean, deviation);
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
  return Create(generator, rng_type, false);
}
VRAMSTOW_CURAND int curandCreateGeneratorHost(void** generator, int rng_type) {
  return Create(generator, rng_type, true);
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
  checked->sequence.seed = seed;
  checked->sequence.first = 0;
  return kSuccess;
}

VRAMSTOW_CURAND int curandSetGeneratorOffset(void* generator, unsigned long long offset) {
  Generator* checked = Checked(generator);
  if (checked == nullptr) return kNotInitialized;
  checked->sequence.first = offset;
  return kSuccess;
}

// There is one order only.
VRAMSTOW_CURAND int curandSetGeneratorOrdering(void* generator, int /*order*/) {
  return Checked(generator) == nullptr ? kNotInitialized : kSuccess;
}

VRAMSTOW_CURAND int curandGenerateSeeds(void* generator) {
  return Checked(generator) == nullptr ? kNotInitialized : kSuccess;
}

VRAMSTOW_CURAND int curandGenerate(void* generator, unsigned* output, size_t num) {
  return Produce(generator, Numbers::kBits32, output, num);
}
VRAMSTOW_CURAND int curandGenerateLongLong(void* generator, unsigned long long* output,
                                           size_t num) {
  return Produce(generator, Numbers::kBits64, output, num);
}
VRAMSTOW_CURAND int curandGenerateUniform(void* generator, float* output, size_t num) {
  return Produce(generator, Numbers::kUniformFloat, output, num);
}
VRAMSTOW_CURAND int curandGenerateUniformDouble(void* generator, double* output, size_t num) {
  return Produce(generator, Numbers::kUniformDouble, output, num);
}
VRAMSTOW_CURAND int curandGenerateNormal(void* generator, float* output, size_t n, float mean,
                                         float stddev) {
  return ProduceNormal(generator, Numbers::kNormalFloat, output, n, mean, stddev);
}
VRAMSTOW_CURAND int curandGenerateNormalDouble(void* generator, double* output, size_t n,
                                               double mean, double stddev) {
  return ProduceNormal(generator, Numbers::kNormalDouble, output, n, mean, stddev);
}
VRAMSTOW_CURAND int curandGenerateLogNormal(void* generator, float* output, size_t n, float mean,
                                            float stddev) {
  return ProduceNormal(generator, Numbers::kLogNormalFloat, output, n, mean, stddev);
}
VRAMSTOW_CURAND int curandGenerateLogNormalDouble(void* generator, double* output, size_t n,
                                                  double mean, double stddev) {
  return ProduceNormal(generator, Numbers::kLogNormalDouble, output, n, mean, stddev);
}
