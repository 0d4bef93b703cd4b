// A library that is linked with NCCL, which only it sees where it is opened for itself; and the
// same functions for a program that is linked.
#include "tests/interpose/programs/collective_calls.h"

extern "C" {
#define COLLECTIVE(name, parameters, arguments) int name parameters;
COLLECTIVES(COLLECTIVE, COLLECTIVE)
#undef COLLECTIVE
#define GROUP(name) int name();
COLLECTIVE_GROUPS(GROUP)
#undef GROUP
vramstow::collectives::Told* StandInTold();
}

namespace {

// Calls, not addresses: a linked library calls by its table of functions. No tail call: it would
// come from whoever called the library.
#define COLLECTIVE(name, parameters, arguments) \
  int Call_##name parameters {                  \
    volatile int result = name arguments;       \
    return result;                              \
  }
COLLECTIVES(COLLECTIVE, COLLECTIVE)
#undef COLLECTIVE
#define GROUP(name)               \
  int Call_##name() {             \
    volatile int result = name(); \
    return result;                \
  }
COLLECTIVE_GROUPS(GROUP)
#undef GROUP

}  // namespace

extern "C" __attribute__((visibility("default"))) CollectiveCalls UseCollectives() {
  CollectiveCalls calls = {};
#define COLLECTIVE(name, parameters, arguments) calls.name = Call_##name;
  COLLECTIVES(COLLECTIVE, COLLECTIVE)
#undef COLLECTIVE
#define GROUP(name) calls.name = Call_##name;
  COLLECTIVE_GROUPS(GROUP)
#undef GROUP
  calls.told = StandInTold();
  return calls;
}
