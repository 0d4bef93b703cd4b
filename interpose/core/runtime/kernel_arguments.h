// KernelArguments finds out which arguments of a kernel may hold addresses.
//
// Idea: a launch names its kernel and an array of pointers to arguments. Only the driver knows the
// sizes of the arguments. vramstow asks for them once per kernel and stores the answer until a
// module or context is unloaded: after that another kernel may have the same handle. Arguments that
// are smaller than an address are left out. The driver is not asked about a handle of an unknown
// kind (handle_kinds.h).
//
// Ownership: static storage, constant-initialised; an entry is written once and never changed.
// Threads: any, without a lock. Errors: null if the sizes are unknown or the table is full; then
// the caller has to ask the driver each time. Units: bytes.
#ifndef VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_ARGUMENTS_H_
#define VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_ARGUMENTS_H_

#include <atomic>
#include <cstdint>

#include "interpose/core/runtime/core.h"
#include "interpose/core/runtime/cuda_abi.h"
#include "interpose/core/runtime/handle_kinds.h"

namespace vramstow {

// Asks the driver for the sizes of a kernel's arguments, one after the other.
class ArgumentSizes {
 public:
  ArgumentSizes(const Driver& driver, HandleKind kind, CUfunction function);
  // Stores the size of the next argument. Returns false if there is no further argument, or the
  // driver does not answer.
  bool Next(size_t* size);
  bool known() const { return of_function_ != nullptr || of_kernel_ != nullptr; }

 private:
  // The driver's function for the kind of this handle. At most one of the two pointers is set,
  // because a driver may crash if it is asked about a handle of the other kind.
  decltype(&cuFuncGetParamInfo) of_function_ = nullptr;
  decltype(&cuKernelGetParamInfo) of_kernel_ = nullptr;
  CUfunction function_;
  size_t index_ = 0;
};

class KernelArguments {
 public:
  static constexpr int kMax = 24;
  struct Layout {
    uint8_t count;
    bool writes_no_addresses;  // into memory (kernel_names.h)
    uint8_t indexes[kMax];
    uint16_t sizes[kMax];
  };

  constexpr KernelArguments(const Driver& driver, const HandleKinds& kinds)
      : driver_(driver), kinds_(kinds) {}
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  const Layout* Find(CUfunction function);
  ArgumentSizes Ask(CUfunction function) const;
  // Forgets all answers. Called before modules or contexts are unloaded. A program must not launch
  // a kernel while it unloads that kernel.
  void Forget() { generation_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  static constexpr uint32_t kPlaces = 4096;
  static constexpr uint32_t kLooks = 8;
  static constexpr int kAddressBits = 48;
  // The number of generations that a key can express. Forget() begins a new generation. After the
  // last one the driver is asked at each launch.
  static constexpr uint64_t kGenerations = uint64_t{1} << (64 - kAddressBits);
  static constexpr uint64_t kBeingWritten = ~uint64_t{0};

  struct Entry {
    std::atomic<uint64_t> key{0};  // the generation and the function's handle
    Layout layout{};
  };

  bool Describe(CUfunction function, Layout* layout) const;

  const Driver& driver_;
  const HandleKinds& kinds_;
  std::atomic<uint64_t> generation_{1};
  Entry entries_[kPlaces] = {};
};

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_CORE_RUNTIME_KERNEL_ARGUMENTS_H_
