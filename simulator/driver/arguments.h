// The arguments of a kernel launch, copied at the launch: the caller may change them afterwards.
//
// Ownership: the copy. Threads: immutable once made. Errors: complete() is false if the caller did
// not give what was asked for. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_ARGUMENTS_H_
#define VRAMSTOW_SIMULATOR_DRIVER_ARGUMENTS_H_

#include <cstddef>
#include <vector>

namespace vramstow::simulator {

class CopiedArguments {
 public:
  // Lays out the next argument. Alignment is a power of two, 16 at most.
  void Add(size_t bytes, size_t alignment);
  // Copies what was laid out from `parameters` (an address for each) or from the buffer that
  // `extra` describes, where arguments follow each other with their alignment.
  void Copy(void** parameters, void** extra);

  bool complete() const { return complete_; }
  // One for each, aligned for any type.
  const std::vector<const char*>& places() const { return places_; }
  // The same for C.
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
