// Declares NCCL's collectives as the stand-in has them, for each way in which a program finds them.
//
// COLLECTIVE(name, parameters, arguments) is a collective whose first two arguments are buffers;
// COLLECTIVE_OF_ONE has one buffer.
#ifndef VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_COLLECTIVE_CALLS_H_
#define VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_COLLECTIVE_CALLS_H_

#include <cstddef>
#include <cstdint>

#define COLLECTIVES(collective, collective_of_one)                                                 \
  collective(                                                                                      \
      ncclAllReduce,                                                                               \
      (const void* send, void* recv, size_t count, int type, int op, void* comm, void* stream),    \
      (send, recv, count, type, op, comm, stream))                                                 \
      collective(ncclBroadcast,                                                                    \
                 (const void* send, void* recv, size_t count, int type, int root, void* comm,      \
                  void* stream),                                                                   \
                 (send, recv, count, type, root, comm, stream))                                    \
          collective(ncclReduce,                                                                   \
                     (const void* send, void* recv, size_t count, int type, int op, int root,      \
                      void* comm, void* stream),                                                   \
                     (send, recv, count, type, op, root, comm, stream))                            \
              collective(ncclAllGather,                                                            \
                         (const void* send, void* recv, size_t count, int type, void* comm,        \
                          void* stream),                                                           \
                         (send, recv, count, type, comm, stream))                                  \
                  collective(ncclReduceScatter,                                                    \
                             (const void* send, void* recv, size_t count, int type, int op,        \
                              void* comm, void* stream),                                           \
                             (send, recv, count, type, op, comm, stream))                          \
                      collective(ncclAlltoAll,                                                     \
                                 (const void* send, void* recv, size_t count, int type,            \
                                  void* comm, void* stream),                                       \
                                 (send, recv, count, type, comm, stream))                          \
                          collective(ncclGather,                                                   \
                                     (const void* send, void* recv, size_t count, int type,        \
                                      int root, void* comm, void* stream),                         \
                                     (send, recv, count, type, root, comm, stream))                \
                              collective(ncclScatter,                                              \
                                         (const void* send, void* recv, size_t count, int type,    \
                                          int root, void* comm, void* stream),                     \
                                         (send, recv, count, type, root, comm, stream))            \
                                  collective_of_one(ncclBcast,                                     \
                                                    (void* buff, size_t count, int type, int root, \
                                                     void* comm, void* stream),                    \
                                                    (buff, count, type, root, comm, stream))       \
                                      collective_of_one(ncclSend,                                  \
                                                        (const void* buff, size_t count, int type, \
                                                         int peer, void* comm, void* stream),      \
                                                        (buff, count, type, peer, comm, stream))   \
                                          collective_of_one(                                       \
                                              ncclRecv,                                            \
                                              (void* buff, size_t count, int type, int peer,       \
                                               void* comm, void* stream),                          \
                                              (buff, count, type, peer, comm, stream))

// The functions that begin and end a group. They have no buffers; a group defers its collectives
// until its end.
#define COLLECTIVE_GROUPS(group) group(ncclGroupStart) group(ncclGroupEnd)

namespace vramstow::collectives {

constexpr int kMaxArguments = 8;

// The last call that the stand-in has received, and the result that it returns.
struct StandInCall {
  const char* name = nullptr;
  int count = 0;
  uint64_t arguments[kMaxArguments] = {};
  int errno_at_call = 0;
  int errno_after = 0;
  int result = 0;
  void (*inside)() = nullptr;  // called during each collective, if not null
};

}  // namespace vramstow::collectives

struct CollectiveCalls {
#define COLLECTIVE(name, parameters, arguments) int(*name) parameters;
  COLLECTIVES(COLLECTIVE, COLLECTIVE)
#undef COLLECTIVE
#define GROUP(name) int (*name)();
  COLLECTIVE_GROUPS(GROUP)
#undef GROUP
  vramstow::collectives::StandInCall* call_record;
};

extern "C" CollectiveCalls UseCollectives();

#endif  // VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_COLLECTIVE_CALLS_H_
