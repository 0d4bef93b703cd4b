// A core library that was not built together with the shim.
#include "interpose/shim/seam.h"

extern "C" __attribute__((visibility("default"))) const VramstowCore* vramstow_core_attach(
    const VramstowShim*) {
  return nullptr;
}
