#include "adapters/torch/census/generations.h"

#include <sys/uio.h>
#include <unistd.h>

namespace vramstow::torch_census {

const Generations::Generation* Generations::first_ = nullptr;

const Generations::Link* Generations::HeadOf(int number) { return &first_[number].head; }

// True if the collector is running. The flag lies behind the generations: first come a pointer to
// the first one, the frozen objects, and three statistics of three numbers each.
bool Generations::AreCollected() {
  constexpr size_t kState =
      kCount * sizeof(Generation) + sizeof(void*) + sizeof(Generation) + 9 * sizeof(intptr_t);
  const auto* state = reinterpret_cast<const char*>(first_) + kState;
  return *reinterpret_cast<const volatile int*>(state) == 1;
}

// Finds the generations. Everything is read through the kernel. After the generations Python stores
// a pointer to the first one; if that pointer has the expected value, the generations were found.
bool Generations::Look() {
  if (first_ != nullptr) return true;
  Object* newest = PyList_New(0);
  if (newest == nullptr) {
    PyErr_Clear();
    return false;
  }
  const Link* const link = reinterpret_cast<const Link*>(newest) - 1;
  const auto* found = reinterpret_cast<const Generation*>(Next(link));
  struct {
    Generation generations[kCount];
    const void* first;
  } about;
  iovec local = {&about, sizeof about};
  iovec remote = {const_cast<Generation*>(found), sizeof about};
  const bool is_read =
      PyObject_GC_IsTracked(newest) != 0 &&
      process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(sizeof about);
  const bool is_right =
      is_read && about.first == found &&
      Next(reinterpret_cast<const Link*>(about.generations[0].head.previous)) == &found->head;
  if (is_right) first_ = found;
  Py_DecRef(newest);
  return is_right;
}

}  // namespace vramstow::torch_census
