// A number that says which table of hooks a library was built from: shim and core name hooks by
// their row, so they must agree on the rows.
#ifndef VRAMSTOW_INTERPOSE_SHIM_FINGERPRINT_H_
#define VRAMSTOW_INTERPOSE_SHIM_FINGERPRINT_H_

#include <stdint.h>

namespace vramstow {

// FNV-1a, 64 bits, over a text and its zero byte.
constexpr uint64_t AddToFingerprint(uint64_t hash, const char* text) {
  do {
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  } while (*text++ != '\0');
  return hash;
}

constexpr uint64_t HooksFingerprint() {
  uint64_t hash = 0xcbf29ce484222325u;
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, delegate, parameters, arguments, what) \
  hash = AddToFingerprint(hash, #symbol #parameters);
#include "interpose/shim/hooks.def"
  return hash;
}

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_FINGERPRINT_H_
