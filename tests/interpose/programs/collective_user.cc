// A library that is linked with NCCL. If it is opened with a scope of its own, only it sees NCCL. A
// linked program uses the same functions.
#include "tests/interpose/programs/collective_calls.h"

extern "C" {
#define COLLECTIVE(name, parameters, arguments) int name parameters;
COLLECTIVES(COLLECTIVE, COLLECTIVE)
#undef COLLECTIVE
#define GROUP(name) int name();
COLLECTIVE_GROUPS(GROUP)
#undef GROUP
vramstow::collectives::StandInCall* StandInCallRecord();
}

namespace {

// The functions make calls instead of returning addresses, because a linked library calls through
// its own table of functions. A tail call would seem to come from this library's caller.
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
  calls.call_record = StandInCallRecord();
  return calls;
}
