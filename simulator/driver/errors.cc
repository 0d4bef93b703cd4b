// Implements the names and texts of results.
#include <cuda.h>

namespace vramstow::simulator {
namespace {

struct ErrorRow {
  int number;
  const char* name;
  const char* text;
};

constexpr ErrorRow kErrors[] = {
#define VRAMSTOW_DRIVER_ERROR(name, number, text) {number, "CUDA_" #name, text},
#include "simulator/driver/errors.def"
#undef VRAMSTOW_DRIVER_ERROR
};

const ErrorRow* FindError(CUresult result) {
  for (const ErrorRow& row : kErrors) {
    if (row.number == static_cast<int>(result)) return &row;
  }
  return nullptr;
}

}  // namespace
}  // namespace vramstow::simulator

extern "C" {

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* row = vramstow::simulator::FindError(error);
  *name = row == nullptr ? nullptr : row->name;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto* row = vramstow::simulator::FindError(error);
  *text = row == nullptr ? nullptr : row->text;
  return row == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // extern "C"
