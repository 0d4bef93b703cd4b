// Descriptor: a file descriptor that is closed by its destructor.
//
// Ownership: owns the descriptor, unless it is negative. Threads: none. Errors: errors of close()
// are lost, so code that has written closes the descriptor itself. Units: none.
#ifndef VRAMSTOW_BASE_DESCRIPTOR_H_
#define VRAMSTOW_BASE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace vramstow {

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
