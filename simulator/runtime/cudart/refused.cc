// Defines public functions that this runtime does not support: each returns cudaErrorNotSupported
// and prints its name once on stderr. Every exported name is defined here, weakly, so that a
// definition in another file replaces it. The functions are defined without their parameters, which
// they do not read, so that functions newer than the headers can be defined, too.
#include <atomic>

#include "simulator/runtime/cudart/message.h"

namespace vramstow::simulator::cudart {

// Defined in refusal.cc, because this file must not include the functions' true declarations.
int RefuseCall();

namespace {

int Refuse(std::atomic<bool>* said, const char* name) {
  if (!said->exchange(true)) {
    Log("the simulated CUDA runtime does not support ", name, ".");
  }
  return RefuseCall();
}

}  // namespace

}  // namespace vramstow::simulator::cudart

#define SYMBOL(name)                                                  \
  extern "C" __attribute__((weak, visibility("default"))) int name(); \
  extern "C" int name() {                                             \
    static constinit std::atomic<bool> said = false;                  \
    return vramstow::simulator::cudart::Refuse(&said, #name);         \
  }
#include <cudart_names.def>
#undef SYMBOL
