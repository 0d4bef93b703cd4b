// Fingerprint: a 64-bit hash (FNV-1a) of several texts. It does not resist deliberate collisions.
//
// Ownership: none. Threads: none of its own. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_FINGERPRINT_H_
#define VRAMSTOW_TOOLS_LAUNCH_FINGERPRINT_H_

#include <cstdint>
#include <string_view>

namespace vramstow {

class Fingerprint {
 public:
  // Adds a text and its end, so that the texts "ab" and "c" have another hash than "a" and "bc".
  void Add(std::string_view text) {
    for (const char c : text) AddByte(static_cast<unsigned char>(c));
    AddByte(0xff);
  }
  uint64_t value() const { return value_; }

 private:
  void AddByte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

  uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_LAUNCH_FINGERPRINT_H_
