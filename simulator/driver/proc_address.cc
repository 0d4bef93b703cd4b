// cuGetProcAddress: a name, a version and a flag give the right form of a function.
#include <cuda.h>
#include <string.h>

#include <algorithm>

#include "simulator/driver/functions.h"
#include "simulator/driver/state.h"

namespace vramstow::simulator {
namespace {

// The version of the CUDA driver that is simulated, whatever headers this was built with.
constexpr int kDriverVersion = 13020;

struct Found {
  void (*symbol)() = nullptr;
  bool name_known = false;
};

// The newest form that `version` has, of the kind of default stream that is asked for; a function
// without a stream has only one kind.
Found FindFunction(const char* name, int version, bool per_thread) {
  const DriverFunctions table = AllDriverFunctions();
  const DriverFunction* end = table.rows + table.count;
  const DriverFunction* row = std::lower_bound(
      table.rows, end, name,
      [](const DriverFunction& left, const char* right) { return strcmp(left.name, right) < 0; });
  Found legacy;
  Found own;
  for (; row != end && strcmp(row->name, name) == 0; ++row) {
    Found& found = row->stream == DefaultStream::kPerThread ? own : legacy;
    found.name_known = true;
    if (row->version <= version) found.symbol = row->symbol;
  }
  // Where there is no per-thread form (yet), the legacy one is meant.
  return per_thread && own.symbol != nullptr ? own : legacy;
}

CUresult GetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags,
                        CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr cuuint64_t kFlags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if ((flags & ~kFlags) != 0 || version > kDriverVersion) return CUDA_ERROR_INVALID_VALUE;
  const Found found =
      FindFunction(symbol, version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0);
  // A name or version that is not there is documented as a success that gives null.
  *function = reinterpret_cast<void*>(found.symbol);
  if (status != nullptr) {
    *status = found.symbol != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : found.name_known      ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using vramstow::simulator::GetProcAddress;

extern "C" {

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = vramstow::simulator::kDriverVersion;
  return CUDA_SUCCESS;
}

#undef cuGetProcAddress
CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return GetProcAddress(symbol, function, version, flags, nullptr);
}

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  return GetProcAddress(symbol, function, version, flags, status);
}

// Tables behind private identifiers are no part of the public contract: there are none here.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
