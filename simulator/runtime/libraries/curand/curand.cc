// Implements cuRAND's pseudo-random generators on the device, whose numbers are not computed.
// Quasi-random generators and generators on the host are refused.
//
// Names and constants are those of NVIDIA's curand.h, restated so that the build needs no further
// headers. cuRAND has no status "not supported", so refused calls return
// CURAND_STATUS_INTERNAL_ERROR.
#include "simulator/runtime/libraries/common/kernels.h"
#include "simulator/runtime/libraries/common/stand_in.h"

namespace vramstow::simulator {
namespace {

enum Status {
  kNotInitialized = 101,
  kAllocationFailed = 102,
  kTypeError = 103,
  kOutOfRange = 104,
  kLengthNotMultiple = 105,
  kLaunchFailure = 201,
  kInitializationFailed = 203,
  kInternalError = 999,
};

}  // namespace

const LibraryIdentity kLibrary = {"cuRAND", kInternalError, "CURAND_STATUS_INTERNAL_ERROR"};
const StatusCodes kCodes = {kNotInitialized, kAllocationFailed, kOutOfRange, kLaunchFailure};
const char kKernelModule[] = VRAMSTOW_KERNEL_MODULE_HEAD VRAMSTOW_KERNEL("curand_generate");

namespace {

using P = void*;  // a pointer of any type
using U64 = unsigned long long;

struct Generator : Handle {
  U64 seed = 0;
  U64 first = 0;
};

int CreateGenerator(P* generator, int type) {
  constexpr int kFirstPseudo = 100;
  constexpr int kFirstQuasi = 200;
  if (generator == nullptr) return kNotInitialized;
  if (type < kFirstPseudo || type >= kFirstQuasi) return kTypeError;
  if (EnsureContext() != CUDA_SUCCESS) return kInitializationFailed;
  return Create<Generator>(generator);
}

int RefuseHost() {
  LogOnStderr("cuRAND's generators on the host are not simulated; they are refused.");
  return kInternalError;
}

int Check(P generator) { return Checked(generator) == nullptr ? kNotInitialized : 0; }

int SetFirst(P handle, U64 first) {
  auto* generator = Checked<Generator>(handle);
  if (generator == nullptr) return kNotInitialized;
  generator->first = first;
  return 0;
}

int SetSeed(P handle, U64 seed) {
  const int status = SetFirst(handle, 0);
  if (status == 0) Checked<Generator>(handle)->seed = seed;
  return status;
}

// Queues the kernel for `count` numbers.
template <typename Number>
int Produce(P handle, Number* output, size_t count) {
  auto* generator = Checked<Generator>(handle);
  if (generator == nullptr) return kNotInitialized;
  if (count == 0) return 0;
  if (output == nullptr) return kOutOfRange;
  const U64 first = generator->first;
  generator->first += count;
  return LaunchOf("curand_generate", generator->stream, {static_cast<int64_t>(count), 1, 1},
                  {{output, count * sizeof(Number)}}, sizeof(Number), output, count,
                  generator->seed, first);
}

// Normal numbers are made in pairs, so cuRAND accepts only an even count.
template <typename Number>
int ProducePairs(P handle, Number* output, size_t count) {
  return count % 2 != 0 ? kLengthNotMultiple : Produce(handle, output, count);
}

}  // namespace
}  // namespace vramstow::simulator

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C API's own file

VRAMSTOW_ROW(curandGetVersion, (int* version), GetVersion(kCurandVersion, version))
VRAMSTOW_ROW(curandGetProperty, (int part, int* value), GetProperty(kCurandVersion, part, value))
VRAMSTOW_ROW(curandCreateGenerator, (P * g, int type), CreateGenerator(g, type))
VRAMSTOW_ROW(curandCreateGeneratorHost, (P*, int), RefuseHost())
VRAMSTOW_ROW(curandDestroyGenerator, (P g), Destroy<Generator>(g))
VRAMSTOW_ROW(curandSetStream, (P g, CUstream stream), SetStream(g, stream))
VRAMSTOW_ROW(curandSetPseudoRandomGeneratorSeed, (P g, U64 seed), SetSeed(g, seed))
VRAMSTOW_ROW(curandSetGeneratorOffset, (P g, U64 offset), SetFirst(g, offset))
// The stand-in has only one ordering, so the setting is ignored.
VRAMSTOW_ROW(curandSetGeneratorOrdering, (P g, int), Check(g))
VRAMSTOW_ROW(curandGenerateSeeds, (P g), Check(g))
VRAMSTOW_ROW(curandGenerate, (P g, unsigned* to, size_t n), Produce(g, to, n))
VRAMSTOW_ROW(curandGenerateLongLong, (P g, U64* to, size_t n), Produce(g, to, n))
VRAMSTOW_ROW(curandGenerateUniform, (P g, float* to, size_t n), Produce(g, to, n))
VRAMSTOW_ROW(curandGenerateUniformDouble, (P g, double* to, size_t n), Produce(g, to, n))
VRAMSTOW_ROW(curandGenerateNormal, (P g, float* to, size_t n, float, float), ProducePairs(g, to, n))
VRAMSTOW_ROW(curandGenerateNormalDouble, (P g, double* to, size_t n, double, double),
             ProducePairs(g, to, n))
VRAMSTOW_ROW(curandGenerateLogNormal, (P g, float* to, size_t n, float, float),
             ProducePairs(g, to, n))
VRAMSTOW_ROW(curandGenerateLogNormalDouble, (P g, double* to, size_t n, double, double),
             ProducePairs(g, to, n))
