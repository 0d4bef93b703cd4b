// Copies the arguments of a kernel at its launch, because the caller may change them afterwards.
//
// Ownership: owns the copy. Threads: immutable once made. Errors: complete() is false if the caller
// did not give all arguments. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_ARGUMENTS_H_
#define VRAMSTOW_SIMULATOR_DRIVER_ARGUMENTS_H_

#include <cstddef>
#include <vector>

namespace vramstow::simulator {

class CopiedArguments {
 public:
  // Appends an argument to the layout. The alignment is a power of two, 16 at most.
  void Add(size_t bytes, size_t alignment);
  // Copies the arguments of the layout from `parameters` (one address for each argument) or from
  // the buffer that `extra` describes. That buffer holds the arguments one after the other, each at
  // its alignment.
  void Copy(void** parameters, void** extra);

  bool complete() const { return complete_; }
  // The address of each argument's copy, aligned for any type.
  const std::vector<const char*>& places() const { return places_; }
  // The addresses of the arguments' copies as an array, for C code.
  void** pointers() { return pointers_.data(); }

 private:
  struct Item {
    size_t bytes = 0;
    size_t alignment = 1;
  };
  bool CopyPacked(void** extra);

  std::vector<Item> items_;
  std::vector<char> bytes_;
  std::vector<const char*> places_;
  std::vector<void*> pointers_;
  bool complete_ = false;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_ARGUMENTS_H_
