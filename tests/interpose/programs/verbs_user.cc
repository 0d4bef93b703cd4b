// A library that is linked with libibverbs. If it is opened with a scope of its own, only it sees
// libibverbs. A linked program uses the same functions.
#include "tests/interpose/programs/verbs_user.h"

extern "C" {
void* ibv_reg_mr(void* pd, void* address, size_t length, int access);
void* ibv_reg_mr_iova(void* pd, void* address, size_t length, uint64_t iova, int access);
void* ibv_reg_mr_iova2(void* pd, void* address, size_t length, uint64_t iova, unsigned access);
int ibv_dereg_mr(void* region);
vramstow::network::Control* StandInControl();
}

// The functions make calls instead of returning addresses, because a linked library calls through
// its own table of functions.
extern "C" __attribute__((visibility("default"))) VerbsUser UseVerbs() {
  return {
      [](void* pd, void* address, size_t length, int access) {
        return ibv_reg_mr(pd, address, length, access);
      },
      [](void* pd, void* address, size_t length, uint64_t iova, int access) {
        return ibv_reg_mr_iova(pd, address, length, iova, access);
      },
      [](void* pd, void* address, size_t length, uint64_t iova, unsigned access) {
        return ibv_reg_mr_iova2(pd, address, length, iova, access);
      },
      [](void* region) { return ibv_dereg_mr(region); },
      StandInControl(),
  };
}
