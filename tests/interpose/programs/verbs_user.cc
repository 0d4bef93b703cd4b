// A library that is linked with libibverbs, which only it sees where it is opened for itself; and
// the same functions for a program that is linked.
#include "tests/interpose/programs/verbs_user.h"

extern "C" {
void* ibv_reg_mr(void* pd, void* address, size_t length, int access);
void* ibv_reg_mr_iova(void* pd, void* address, size_t length, uint64_t iova, int access);
void* ibv_reg_mr_iova2(void* pd, void* address, size_t length, uint64_t iova, unsigned access);
int ibv_dereg_mr(void* region);
vramstow::network::Control* StandInControl();
}

// Calls, not addresses: a linked library calls by its table of functions.
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
