// Emulations compute on the host the effect of a kernel that is known by its name.
//
// Idea: the stand-ins for cuBLAS and cuBLASLt queue kernels with one argument: an array of words
// that contains all arguments of the library function (blas.cc describes the words). So a launched
// kernel can have the effect of the function, without any machine code.
//
// Ownership: none. Threads: there is no state, and the caller synchronizes access to the memory.
// Errors: returns an Outcome; throws nothing but std::bad_alloc. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_EMULATION_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_EMULATION_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vramstow::simulator {

enum class Outcome {
  kDone,
  kIllegalAddress,  // it accessed an address that is not valid
  kNotUnderstood,   // the arguments are not as expected; nothing was written
  kTooLarge,        // it exceeds its limits; nothing was written
  kUncomputed,      // KernelMemory::Begin refused all of it or a part
};

// The memory that a kernel may access.
class KernelMemory {
 public:
  virtual ~KernelMemory() = default;
  // Returns the host pointer to [address, address + bytes), or null if a kernel must not access it.
  virtual char* At(uint64_t address, uint64_t bytes, bool write) = 0;
  // Must be called before anything is written, and after At was called for all memory that is
  // accessed until the next call of Begin. Returns false if the work must be left out.
  virtual bool Begin() { return true; }
};

// Limits of the work of one launch; a launch that exceeds them has no effect.
struct EmulationLimits {
  uint64_t bytes = 0;       // touched bytes of all operands
  uint64_t operations = 0;  // multiplications and additions of a matrix product
};

// The number of words in the argument of each kernel.
inline constexpr size_t kLaunchWords = 32;

struct KernelLaunch {
  const char* words = nullptr;  // kLaunchWords of 8 bytes
  EmulationLimits limits;

  // Returns the value of type T in word `i`.
  template <typename T>
  T Get(size_t i) const {
    T value;
    memcpy(&value, words + 8 * i, sizeof(T));
    return value;
  }
};

using Emulation = Outcome (*)(const KernelLaunch& launch, KernelMemory* memory);

// Returns the emulation of the kernel with this name, or null if the name is not known.
Emulation FindEmulation(std::string_view kernel);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_EMULATION_H_
