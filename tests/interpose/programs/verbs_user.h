// The functions of libibverbs and of its stand-in, for each way in which a program finds them.
#ifndef VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_VERBS_USER_H_
#define VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_VERBS_USER_H_

#include "tests/interpose/programs/network.h"

struct VerbsUser {
  void* (*reg_mr)(void* pd, void* address, size_t length, int access);
  void* (*reg_mr_iova)(void* pd, void* address, size_t length, uint64_t iova, int access);
  void* (*reg_mr_iova2)(void* pd, void* address, size_t length, uint64_t iova, unsigned access);
  int (*dereg_mr)(void* region);
  vramstow::network::Control* control;
};

extern "C" VerbsUser UseVerbs();

#endif  // VRAMSTOW_TESTS_INTERPOSE_PROGRAMS_VERBS_USER_H_
