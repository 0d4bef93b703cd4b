// Emulations compute on the host what a kernel of a known name does to memory.
//
// Idea: the name of a kernel shows which C++ templates it was made from, and thereby the types of
// its arguments; the types determine the arguments' sizes and the offsets of their members. So a
// launched kernel can have the effect that its source describes, without its machine code. Sources:
// PyTorch's public headers (ATen/native/cuda) for the argument types of its kernels. The argument
// words of the stand-ins for cuBLAS and cuBLASLt are described where they are written.
//
// Ownership: MakeEmulation's result is the caller's. Threads: an Emulation is immutable; Run may be
// called from any thread, and the caller synchronizes access to the memory. Errors: returns an
// Outcome; throws nothing but std::bad_alloc. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_KERNELS_NAMED_EMULATION_H_
#define VRAMSTOW_SIMULATOR_KERNELS_NAMED_EMULATION_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace vramstow::simulator {

enum class Outcome {
  kDone,
  kIllegalAddress,  // it accessed an address that is not valid
  kAssertion,       // an assertion in the kernel failed
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
  // Must be called before anything is written, after At was called for all memory that is accessed
  // until the next Begin. Returns false if the work must be left out.
  virtual bool Begin() { return true; }
};

// Limits of the work of one launch; a launch that exceeds them has no effect.
struct EmulationLimits {
  uint64_t bytes = 0;       // touched bytes of all operands
  uint64_t operations = 0;  // multiplications and additions of a matrix product
};

struct Argument {
  size_t bytes = 0;
  size_t alignment = 1;
};

struct KernelLaunch {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  const std::vector<const char*>* arguments = nullptr;  // one for each of Emulation::arguments()
  EmulationLimits limits;

  // Returns the value of type T at `offset` of an argument.
  template <typename T>
  T Get(size_t argument, size_t offset) const {
    T value;
    memcpy(&value, (*arguments)[argument] + offset, sizeof(T));
    return value;
  }
};

class Emulation {
 public:
  virtual ~Emulation() = default;
  const std::vector<Argument>& arguments() const { return arguments_; }
  virtual Outcome Run(const KernelLaunch& launch, KernelMemory* memory) const = 0;
  // Returns the cost of a byte relative to copying it.
  virtual uint64_t Effort() const { return 1; }

 protected:
  explicit Emulation(std::vector<Argument> arguments) : arguments_(std::move(arguments)) {}

 private:
  std::vector<Argument> arguments_;
};

// Returns the emulation of a kernel by the name that the driver knows (mangled, if it is C++), or
// null if the name is not known.
std::unique_ptr<const Emulation> MakeEmulation(std::string_view kernel);

// Returns the demangled name, or the name itself if it is not a mangled C++ name.
std::string ReadableName(std::string_view kernel);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_EMULATION_H_
