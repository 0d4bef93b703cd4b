#include "simulator/runtime/profiler_place.h"

#include <dlfcn.h>

namespace vramstow::simulator {

ProfilerPlace* FindProfilerPlace() {
  static_assert(ProfilerPlace::is_always_lock_free && sizeof(ProfilerPlace) == sizeof(void*));
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto find =
      reinterpret_cast<ProfilerPlace* (*)()>(dlsym(library, "vramstowSimulatorProfilerPlace"));
  return find == nullptr ? nullptr : find();
}

}  // namespace vramstow::simulator
