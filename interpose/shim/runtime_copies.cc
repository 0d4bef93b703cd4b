#include "interpose/shim/runtime_copies.h"

#include "interpose/shim/objects.h"

namespace vramstow {
namespace {

struct Family {
  int number;
  const char* file;
};
// The supported major versions (families) of the CUDA runtime, newest first.
constexpr Family kFamilies[] = {{13, "libcudart.so.13"}, {12, "libcudart.so.12"}};

// Returns the family (major version) of the CUDA runtime that a library of the process needs.
const Family& FamilyInUse() {
  for (const Family& family : kFamilies) {
    if (IsNeeded(family.file)) return family;
  }
  return kFamilies[0];
}

const char* SimulatedRuntime(const Family& family) {
  return FindPreloaded(family.file, "vramstowSimulatedRuntime");
}

}  // namespace

const char* FileToOpen(const char* file) {
  const int number = file == nullptr ? kNoRuntime : RuntimeFamily(file);
  if (number == kNoRuntime) return file;
  const char* simulated = nullptr;
  for (const Family& family : kFamilies) {
    if (family.number == number) simulated = SimulatedRuntime(family);
  }
  // FamilyInUse() takes the dynamic linker's lock, so it is called only in a simulated run.
  if (number == kAnyFamily && SimulatedRuntime(kFamilies[0]) != nullptr) {
    simulated = SimulatedRuntime(FamilyInUse());
  }
  return simulated == nullptr ? file : simulated;
}

}  // namespace vramstow
