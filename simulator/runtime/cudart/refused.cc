// Public functions that this runtime does not have yet: each returns cudaErrorNotSupported and says
// its name once on stderr. Every exported name is defined here, weakly, so that the definition of
// another file wins where there is one. They are defined without their parameters, which they do
// not look at, so that functions newer than the headers can be named, too.
#include <atomic>

#include "simulator/runtime/cudart/message.h"

namespace vramstow::simulator::cudart {

// In refusal.cc: this file must not see the functions' true declarations.
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
