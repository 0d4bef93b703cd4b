// Emulations: what a kernel that this room knows by name does to memory, computed on the host.
//
// Idea: the name of a kernel says which C++ templates it was made from, and with them the types of
// its arguments; from the types follow their sizes and the places of everything in them. So a
// kernel that is launched can be given the effect that its source describes, without its code.
// Sources: PyTorch's public headers (ATen/native/cuda) for the shapes of its kernels' arguments;
// the argument words of the stand-ins for cuBLAS and cuBLASLt are described where they are made.
//
// Ownership: MakeEmulation's result is the caller's. Threads: an Emulation is immutable; Run may be
// called from any thread, the memory it gets is the caller's matter. Errors: Outcome; nothing here
// throws but std::bad_alloc. Units: bytes.
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
  kIllegalAddress,  // it would have touched what is no memory
  kAssertion,       // it would have stopped at an assertion of its own
  kNotUnderstood,   // the arguments are not as expected; nothing was written
  kTooLarge,        // it would have touched more than its limit; nothing was written
  kUncomputed,      // KernelMemory::Begin said no, to all of it or to a part
};

// What a kernel may touch.
class KernelMemory {
 public:
  virtual ~KernelMemory() = default;
  // Where [address, address + bytes) lies in this process; null if a kernel must not touch it.
  virtual char* At(uint64_t address, uint64_t bytes, bool write) = 0;
  // Asked before anything is written, when At has told all that is touched up to the next Begin.
  // False: leave it out.
  virtual bool Begin() { return true; }
};

// How much a launch may do; more than that and it has no effect.
struct EmulationLimits {
  uint64_t bytes = 0;       // touched, all operands together
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

  // The value of type T at `offset` of an argument.
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
  // How many times as long a byte takes as one that is copied.
  virtual uint64_t Effort() const { return 1; }

 protected:
  explicit Emulation(std::vector<Argument> arguments) : arguments_(std::move(arguments)) {}

 private:
  std::vector<Argument> arguments_;
};

// The effect of the kernel with this name, as the driver knows it (mangled, if it is C++). Null:
// none is known.
std::unique_ptr<const Emulation> MakeEmulation(std::string_view kernel);

// The name as a person would write it; the name itself where it is no C++ name.
std::string ReadableName(std::string_view kernel);

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_KERNELS_NAMED_EMULATION_H_
