// A stand-in for libibverbs.so.1: the functions that register memory, with the versions of their
// symbols.
#include "tests/interpose/programs/network.h"

#define VERBS_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using vramstow::network::Control;
using vramstow::network::Region;

Control control;

void* Note(void* pd, void* address, size_t length, uint64_t iova, int access, int version) {
  const uint64_t last[] = {reinterpret_cast<uint64_t>(pd), reinterpret_cast<uint64_t>(address),
                           length, iova, static_cast<unsigned>(access)};
  for (int i = 0; i < 5; ++i) control.last[i] = last[i];
  return vramstow::network::Register(&control, address, length, version);
}

}  // namespace

VERBS_EXPORT Control* StandInControl() {
  control.write = vramstow::network::Write;
  control.version = vramstow::network::Version;
  return &control;
}

VERBS_EXPORT void* RegOld(void* pd, void* address, size_t length, int access) {
  return Note(pd, address, length, 0, access, 0);
}
VERBS_EXPORT void* RegNew(void* pd, void* address, size_t length, int access) {
  return Note(pd, address, length, 0, access, 1);
}
VERBS_EXPORT int DeregOld(void* region) { return vramstow::network::End(control, region); }
VERBS_EXPORT int DeregNew(void* region) { return vramstow::network::End(control, region); }
__asm__(".symver RegOld, ibv_reg_mr@IBVERBS_1.0");
__asm__(".symver RegNew, ibv_reg_mr@@IBVERBS_1.1");
__asm__(".symver DeregOld, ibv_dereg_mr@IBVERBS_1.0");
__asm__(".symver DeregNew, ibv_dereg_mr@@IBVERBS_1.1");

VERBS_EXPORT void* ibv_reg_mr_iova(void* pd, void* address, size_t length, uint64_t iova,
                                   int access) {
  return Note(pd, address, length, iova, access, 7);
}
VERBS_EXPORT void* ibv_reg_mr_iova2(void* pd, void* address, size_t length, uint64_t iova,
                                    unsigned access) {
  return Note(pd, address, length, iova, static_cast<int>(access), 8);
}
