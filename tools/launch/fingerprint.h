// Fingerprint: a hash of texts: FNV-1a, 64 bits. Not safe against deliberate collisions.
//
// Ownership: none. Threads: none of its own. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_LAUNCH_FINGERPRINT_H_
#define VRAMSTOW_TOOLS_LAUNCH_FINGERPRINT_H_

#include <cstdint>
#include <string_view>

namespace vramstow {

class Fingerprint {
 public:
  // Adds a text and its end: "ab", "c" and "a", "bc" give different hashes.
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
