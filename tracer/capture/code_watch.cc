#include "tracer/capture/code_watch.h"

#include <cstring>

namespace vramstow {
namespace {

using Destroy = void (*)(void* object);

// The beginning of PyTypeObject (object.h, cpython/object.h), which is the same in Python 3.10 to
// 3.14.
struct TypeObject {
  intptr_t references;
  void* type;
  intptr_t size;
  const char* name;
  intptr_t basic_size;
  intptr_t item_size;
  Destroy destroy;
};

// The original destructor of code objects; never null once vramstow's function is installed.
std::atomic<Destroy> destroy_before{nullptr};

}  // namespace

constinit std::atomic<uint64_t> CodeWatch::count_{0};

void CodeWatch::OnEnd(void* code) {
  // The count is raised before the object's memory can be reused.
  count_.fetch_add(1, std::memory_order_seq_cst);
  destroy_before.load(std::memory_order_relaxed)(code);
}

void CodeWatch::Begin(const void* code_type) {
  auto* const type = static_cast<TypeObject*>(const_cast<void*>(code_type));
  if (count() != 0 || type->name == nullptr || std::strcmp(type->name, "code") != 0) return;
  std::atomic_ref<Destroy> place(type->destroy);
  const Destroy before = place.load();
  if (before == nullptr || before == &OnEnd) return;
  destroy_before.store(before);
  place.store(&OnEnd);
  count_.store(1);
}

}  // namespace vramstow
