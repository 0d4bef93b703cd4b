// MappedNodes stores objects of one type in mapped memory, for callbacks that must not use the
// heap.
//
// Idea: objects, called nodes, are cut from mappings of 64 KiB; a node that was released is reused
// first.
//
// Ownership: all nodes, until the store is destroyed; their destructors are not called. Threads:
// one at a time. Errors: null if no memory can be mapped. Units: none.
#ifndef VRAMSTOW_ADAPTERS_TORCH_OBSERVER_MAPPED_NODES_H_
#define VRAMSTOW_ADAPTERS_TORCH_OBSERVER_MAPPED_NODES_H_

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>

namespace vramstow::torch_observer {

template <typename Node>
class MappedNodes {
  static_assert(std::is_trivially_destructible_v<Node>);

 public:
  MappedNodes() = default;
  ~MappedNodes() { Clear(); }
  MappedNodes(const MappedNodes&) = delete;
  MappedNodes& operator=(const MappedNodes&) = delete;

  void Clear() {
    while (mappings_ != nullptr) {
      Mapping* const next = mappings_->next;
      munmap(mappings_, kBytes);
      mappings_ = next;
    }
    free_ = nullptr;
  }

  Node* New() {
    if (free_ == nullptr && !Map()) return nullptr;
    Place* const place = free_;
    free_ = place->next;
    return new (&place->node) Node();
  }
  void GiveBack(Node* node) {
    auto* const place = reinterpret_cast<Place*>(node);
    place->next = free_;
    free_ = place;
  }

 private:
  union Place {
    Place() : next(nullptr) {}
    Place* next;
    Node node;
  };
  static constexpr size_t kBytes = size_t{64} << 10;
  struct Mapping {
    Mapping* next;
    Place places[(kBytes - sizeof(Place)) / sizeof(Place)];
  };
  static_assert(sizeof(Mapping) <= kBytes);

  bool Map() {
    void* const memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    auto* const mapping = new (memory) Mapping;
    mapping->next = mappings_;
    mappings_ = mapping;
    for (Place& place : mapping->places) {
      place.next = free_;
      free_ = &place;
    }
    return true;
  }

  Mapping* mappings_ = nullptr;
  Place* free_ = nullptr;
};

}  // namespace vramstow::torch_observer

#endif  // VRAMSTOW_ADAPTERS_TORCH_OBSERVER_MAPPED_NODES_H_
