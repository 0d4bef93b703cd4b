#include "adapters/values/simulator_link.h"

#include <dlfcn.h>

#include <atomic>

namespace vramstow::values {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

const SimulatorLink* Look() {
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  static SimulatorLink link;
  SimulatorLink found{};
  const bool complete = Find(library, "vramstowSimulatorAppend", &found.append) &&
                        Find(library, "vramstowSimulatorAffords", &found.affords) &&
                        Find(library, "vramstowSimulatorShadow", &found.shadow) &&
                        Find(library, "vramstowSimulatorHoldKernels", &found.hold_kernels) &&
                        Find(library, "vramstowSimulatorPatchReads", &found.patch_reads) &&
                        Find(library, "vramstowSimulatorWatchesUses", &found.watches_uses) &&
                        Find(library, "vramstowSimulatorTellUses", &found.report_uses) &&
                        Find(library, "vramstowSimulatorNoteUnknownSize", &found.note_unknown_size);
  if (!complete) return nullptr;
  link = found;  // the same value in every thread
  return &link;
}

std::atomic<const SimulatorLink*> the_link{nullptr};
std::atomic<int64_t> the_distance{0};

}  // namespace

const SimulatorLink* FindSimulator() {
  const SimulatorLink* link = the_link.load(std::memory_order_acquire);
  if (link != nullptr) return link;
  link = Look();
  the_link.store(link, std::memory_order_release);
  return link;
}

int64_t ShadowDistance() {
  const int64_t known = the_distance.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const SimulatorLink* link = FindSimulator();
  const int64_t distance = link == nullptr ? 0 : link->shadow();
  the_distance.store(distance, std::memory_order_relaxed);
  return distance;
}

}  // namespace vramstow::values
