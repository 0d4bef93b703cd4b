// Descriptor: a file descriptor that closes itself.
//
// Ownership: of the descriptor, unless it is negative. Threads: none. Errors: those of close() are
// lost, so who has written closes by itself. Units: none.
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
  // From now on it is the caller's.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_BASE_DESCRIPTOR_H_
