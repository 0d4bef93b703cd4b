#include "simulator/driver/arguments.h"

#include <cuda.h>
#include <string.h>

#include "base/rounding.h"

namespace vramstow::simulator {
namespace {

constexpr size_t kUnit = 16;  // every copy is aligned for any type

}  // namespace

void CopiedArguments::Add(size_t bytes, size_t alignment) { items_.push_back({bytes, alignment}); }

void CopiedArguments::Copy(void** parameters, void** extra) {
  places_.reserve(items_.size());
  pointers_.reserve(items_.size());
  size_t total = kUnit;
  for (const Item& item : items_) total += RoundUp(item.bytes, kUnit);
  bytes_.resize(total);
  const auto start = reinterpret_cast<uintptr_t>(bytes_.data());
  char* at = bytes_.data() + (RoundUp(start, kUnit) - start);
  for (const Item& item : items_) {
    places_.push_back(at);
    pointers_.push_back(at);
    at += RoundUp(item.bytes, kUnit);
  }
  if (parameters == nullptr) {
    complete_ = items_.empty() || CopyPacked(extra);
    return;
  }
  for (size_t i = 0; i < items_.size(); ++i) {
    if (parameters[i] == nullptr) return;
    memcpy(pointers_[i], parameters[i], items_[i].bytes);
  }
  complete_ = true;
}

bool CopiedArguments::CopyPacked(void** extra) {
  if (extra == nullptr) return false;
  const char* buffer = nullptr;
  size_t size = SIZE_MAX;  // the caller may omit it
  for (void** item = extra; *item != CU_LAUNCH_PARAM_END; item += 2) {
    if (*item == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = static_cast<const char*>(item[1]);
    if (*item == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const size_t*>(item[1]);
  }
  if (buffer == nullptr) return false;
  size_t offset = 0;
  for (size_t i = 0; i < items_.size(); ++i) {
    offset = RoundUp(offset, items_[i].alignment);
    if (items_[i].bytes > size || offset > size - items_[i].bytes) return false;
    memcpy(pointers_[i], buffer + offset, items_[i].bytes);
    offset += items_[i].bytes;
  }
  return true;
}

}  // namespace vramstow::simulator
