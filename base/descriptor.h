// Descriptor: a file descriptor that is closed by its destructor; and functions that leave small
// numbers to the program.
//
// Ownership: owns the descriptor, unless it is negative. Threads: none. Errors: errors of close()
// are lost, so code that has written closes the descriptor itself. Units: none.
#ifndef VRAMSTOW_BASE_DESCRIPTOR_H_
#define VRAMSTOW_BASE_DESCRIPTOR_H_

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace vramstow {

// In a foreign process vramstow uses descriptors from this number on. Smaller numbers are left to
// the program, because programs rely on small numbers, and close them in loops.
inline constexpr int kLowestDescriptor = 1000;

// Moves a descriptor to the lowest free number from kLowestDescriptor on, which is closed by exec.
// Returns that number. Returns `descriptor` unchanged if it is negative or if the process may not
// use such numbers. Async-signal-safe.
inline int MoveDescriptorUp(int descriptor) {
  if (descriptor < 0 || descriptor >= kLowestDescriptor) return descriptor;
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, kLowestDescriptor);
  if (high < 0) return descriptor;
  close(descriptor);
  return high;
}

// Returns a new descriptor of the same open file, which is closed by exec, with a number from
// kLowestDescriptor on if the process may use such numbers. Returns -1 and sets errno on failure.
// Async-signal-safe.
inline int DuplicateDescriptor(int descriptor) {
  const int high = fcntl(descriptor, F_DUPFD_CLOEXEC, kLowestDescriptor);
  return high >= 0 ? high : fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
}

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }
  // Returns the descriptor, which the caller now owns.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_DESCRIPTOR_H_
