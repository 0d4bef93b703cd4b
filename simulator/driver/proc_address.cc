// Implements cuGetProcAddress, which finds the form of a function for a name, a version and flags.
#include <cuda.h>
#include <string.h>

#include <algorithm>

#include "simulator/driver/functions.h"
#include "simulator/driver/state.h"

namespace vramstow::simulator {
namespace {

struct Found {
  void (*symbol)() = nullptr;
  bool name_known = false;
};

// Returns the newest form of the function that exists in `version`, for the requested kind of
// default stream. A function without a stream has only one kind. If a function has both kinds and
// the per-thread kind is requested, the legacy form is not returned instead. Per-thread forms exist
// since CUDA 7.
Found FindFunction(const char* name, int version, bool per_thread) {
  const DriverFunctions table = AllDriverFunctions();
  const DriverFunction* end = table.rows + table.count;
  const DriverFunction* row = std::lower_bound(
      table.rows, end, name,
      [](const DriverFunction& left, const char* right) { return strcmp(left.name, right) < 0; });
  Found legacy;
  Found own;  // the variant for the per-thread default stream
  for (; row != end && strcmp(row->name, name) == 0; ++row) {
    Found& found = row->stream == DefaultStream::kPerThread ? own : legacy;
    found.name_known = true;
    if (row->version <= version) found.symbol = row->symbol;
  }
  return per_thread && own.name_known ? own : legacy;
}

// True if CUDA 13 refuses the version, as its documentation says. Earlier drivers return the newest
// form that they have.
bool IsNewerThanDriver(int version) {
  constexpr int kFirstToRefuse = 13000;
  if (version <= kFirstToRefuse) return false;
  const int driver = SaidCudaVersion();
  return driver >= kFirstToRefuse && version > driver;
}

CUresult LookUp(const char* symbol, void** function, int version, cuuint64_t flags, Found* found) {
  constexpr cuuint64_t kFlags =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (symbol == nullptr || function == nullptr || (flags & ~kFlags) != 0 ||
      IsNewerThanDriver(version)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  *found = FindFunction(symbol, version, per_thread);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vramstow::simulator

using vramstow::simulator::Found;
using vramstow::simulator::LookUp;

extern "C" {

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = vramstow::simulator::SaidCudaVersion();
  return CUDA_SUCCESS;
}

// The form of this function before CUDA 12 returns an error for an unknown function, and does not
// change *function.
#undef cuGetProcAddress
CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  Found found;
  const CUresult result = LookUp(symbol, function, version, flags, &found);
  if (result != CUDA_SUCCESS) return result;
  if (found.symbol == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<void*>(found.symbol);
  return CUDA_SUCCESS;
}

// As documented, an unknown function is a success that sets *function to null.
CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  Found found;
  const CUresult result = LookUp(symbol, function, version, flags, &found);
  if (result != CUDA_SUCCESS) return result;
  *function = reinterpret_cast<void*>(found.symbol);
  if (status != nullptr) {
    *status = found.symbol != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : found.name_known      ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                      : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

// Tables behind private identifiers are not part of the public contract, so there are none here.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (table == nullptr || id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
