#include "simulator/runtime/cudart/driver_table.h"

#include <atomic>

#include "simulator/runtime/cudart/message.h"

namespace vramstow::simulator::cudart {

namespace {

CUresult LogMissing(std::atomic<bool>* said, const char* name) {
  if (!said->exchange(true)) {
    Log("the CUDA driver does not have ", name, ": what needs it fails as not supported.");
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

DriverTable* Make(DefaultStream stream) {
  const DriverAccess& access = DriverAccess::Get();
  auto* table = new DriverTable;
// Defines one function for each missing function of the driver. It is made from a lambda, so that
// it can print its own name.
#define STUB(name)                           \
  if (table->name == nullptr) {              \
    table->name = [](auto...) -> CUresult {  \
      static std::atomic<bool> said = false; \
      return LogMissing(&said, "cu" #name);  \
    };                                       \
  }
#define DRIVER_FUNCTION(name, version)                                                     \
  table->name =                                                                            \
      access.Find<PFN_cu##name##_v##version>("cu" #name, version, DefaultStream::kLegacy); \
  STUB(name)
#define DRIVER_STREAM_FUNCTION(name, version, per_thread_version)                               \
  table->name = access.Find<PFN_cu##name##_v##version>(                                         \
      "cu" #name, stream == DefaultStream::kLegacy ? (version) : (per_thread_version), stream); \
  STUB(name)
#include <cudart_driver_functions.def>
#undef DRIVER_FUNCTION
#undef DRIVER_STREAM_FUNCTION
#undef STUB
  return table;
}

}  // namespace

const DriverTable& DriverTable::Get(DefaultStream stream) {
  // The tables are leaked, like all state of this library, because they are used until the very end
  // of the process.
  if (stream == DefaultStream::kLegacy) {
    static const DriverTable* legacy = Make(DefaultStream::kLegacy);
    return *legacy;
  }
  static const DriverTable* per_thread = Make(DefaultStream::kPerThread);
  return *per_thread;
}

}  // namespace vramstow::simulator::cudart
