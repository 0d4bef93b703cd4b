// Reads bytes of an image without trusting its address: each read reports whether the memory is
// mapped.
//
// Ownership: none. Threads: no state. Errors: returns false. Units: bytes.
#ifndef VRAMSTOW_SIMULATOR_DRIVER_IMAGE_BYTES_H_
#define VRAMSTOW_SIMULATOR_DRIVER_IMAGE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vramstow::simulator {

class ImageBytes {
 public:
  ImageBytes(const void* start, size_t size)
      : start_(reinterpret_cast<uintptr_t>(start)), size_(size) {}

  size_t size() const { return size_; }

  // Copies [offset, offset + bytes). Returns false unless all of it is within the image and mapped.
  bool Read(uint64_t offset, void* to, size_t bytes) const;
  template <typename T>
  bool Read(uint64_t offset, T* value) const {
    return Read(offset, value, sizeof(T));
  }
  bool Read(uint64_t offset, uint64_t bytes, std::vector<char>* to) const;

  // Reads the text from `offset` to the next zero byte, which must follow within `limit` bytes.
  bool ReadText(uint64_t offset, size_t limit, std::string* text) const;

  // Returns a part of the image as an image of its own.
  ImageBytes Part(uint64_t offset, size_t bytes) const;

 private:
  uintptr_t start_;
  size_t size_;
};

}  // namespace vramstow::simulator

#endif  // VRAMSTOW_SIMULATOR_DRIVER_IMAGE_BYTES_H_
