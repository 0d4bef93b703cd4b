#include "simulator/runtime/libraries/cupti/call_names.h"

#include <cctype>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vramstow::simulator {
namespace {

struct Row {
  uint32_t id;
  const char* name;
};

// The rows are made from cupti_driver_cbid.h and cupti_runtime_cbid.h when the build is configured.
constexpr Row kDriverRows[] = {
#define VRAMSTOW_DRIVER_CALL(id, name) {id, #name},
#define VRAMSTOW_RUNTIME_CALL(id, name)
#include VRAMSTOW_CUPTI_CALLS
#undef VRAMSTOW_DRIVER_CALL
#undef VRAMSTOW_RUNTIME_CALL
};
constexpr Row kRuntimeRows[] = {
#define VRAMSTOW_DRIVER_CALL(id, name)
#define VRAMSTOW_RUNTIME_CALL(id, name) {id, #name},
#include VRAMSTOW_CUPTI_CALLS
#undef VRAMSTOW_DRIVER_CALL
#undef VRAMSTOW_RUNTIME_CALL
};

struct Plain {
  std::string name;
  bool per_thread = false;
};

// Converts a name with suffixes to the documented name, and says whether it is the per-thread form:
// cuMemcpyHtoD_v2_ptds becomes cuMemcpyHtoD (per thread), and __cudaLaunchKernel becomes
// cudaLaunchKernel, which the program called.
Plain PlainName(std::string_view name, bool per_thread) {
  while (name.starts_with('_')) name.remove_prefix(1);
  Plain plain = {.name = "", .per_thread = per_thread};
  while (!name.empty()) {
    const size_t end = name.find('_', 1);
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(part.size());
    if (part == "_ptsz" || part == "_ptds") {
      plain.per_thread = true;
    } else if (part.size() < 3 || part[0] != '_' || part[1] != 'v' || isdigit(part[2]) == 0) {
      plain.name += part;
    }
  }
  return plain;
}

struct Ids {
  uint32_t legacy = 0;
  uint32_t per_thread = 0;
};

class Table {
 public:
  template <size_t size>
  explicit Table(const Row (&rows)[size]) {
    for (const Row& row : rows) {
      names_[row.id] = row.name;
      // A function that replaces another one in CUDA 13 is shown under its old name.
      if (row.name[0] == '_') continue;
      const Plain plain = PlainName(row.name, false);
      Ids& ids = ids_[plain.name];
      uint32_t& id = plain.per_thread ? ids.per_thread : ids.legacy;
      if (row.id > id) id = row.id;
    }
  }

  uint32_t Id(const char* name, bool per_thread) const {
    const Plain plain = PlainName(name, per_thread);
    const auto found = ids_.find(plain.name);
    if (found == ids_.end()) return 0;
    const Ids& ids = found->second;
    return plain.per_thread && ids.per_thread != 0 ? ids.per_thread : ids.legacy;
  }

  const char* Name(uint32_t id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string, Ids> ids_;
  std::unordered_map<uint32_t, const char*> names_;
};

const Table& TableOf(CallDomain domain) {
  if (domain == CallDomain::kDriver) {
    static const auto* driver = new Table(kDriverRows);
    return *driver;
  }
  static const auto* runtime = new Table(kRuntimeRows);
  return *runtime;
}

}  // namespace

uint32_t CallId(CallDomain domain, const char* name, bool per_thread) {
  return TableOf(domain).Id(name, per_thread);
}

const char* CallName(CallDomain domain, uint32_t id) { return TableOf(domain).Name(id); }

}  // namespace vramstow::simulator
