// Computes a number that identifies the tables from which a library was built: hooks.def,
// library_hooks.def and api.def, and the sizes of the structs of seam.h. Shim and core refer to
// hooks and functions of the C API by row number, so both must have been built from the same rows.
#ifndef VRAMSTOW_INTERPOSE_SHIM_FINGERPRINT_H_
#define VRAMSTOW_INTERPOSE_SHIM_FINGERPRINT_H_

#include <stdint.h>

#include "interpose/shim/seam.h"

namespace vramstow {

// Adds a text and its zero byte to a 64-bit FNV-1a hash.
constexpr uint64_t AddToFingerprint(uint64_t hash, const char* text) {
  do {
    hash = (hash ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
  } while (*text++ != '\0');
  return hash;
}

constexpr uint64_t HooksFingerprint() {
  uint64_t hash = 0xcbf29ce484222325u;
#define VRAMSTOW_HOOK(symbol, name, version, stream, group, handler, parameters, arguments, what) \
  hash = AddToFingerprint(hash, #symbol #parameters);
#include "interpose/shim/hooks.def"
#define VRAMSTOW_LIBRARY_HOOK(symbol, version, library, group, result, absent, handler, \
                              parameters, arguments, what)                              \
  hash = AddToFingerprint(hash, #symbol #parameters);
#include "interpose/shim/library_hooks.def"
#define VRAMSTOW_API(version, name, function, core, parameters, arguments) \
  hash = AddToFingerprint(hash, #name #parameters);
#include "interpose/shim/api.def"
  constexpr uint64_t kSizes[] = {sizeof(VramstowCore), sizeof(VramstowShim),
                                 sizeof(VramstowThread)};
  for (const uint64_t size : kSizes) {
    hash = (hash ^ size) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace vramstow

#endif  // VRAMSTOW_INTERPOSE_SHIM_FINGERPRINT_H_
