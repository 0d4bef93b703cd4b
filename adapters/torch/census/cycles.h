// Cycles finds the reference cycles that hold dead tensors, and how much memory they hold.
//
// Idea: the cycles are the strongly connected components of the graph of dead objects. Each piece
// of memory is reported with the component that is nearest to its tensor, because the memory is
// freed when the cycle of that component is broken. A report looks like "Garbage.cycle → itself".
//
// Ownership: copies. Threads: the caller holds the interpreter's lock all the time. Errors: if
// there are too many objects, no cycles are reported, only the bytes. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_CYCLES_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_CYCLES_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "adapters/torch/census/graph.h"

namespace vramstow::torch_census {

struct Cycle {
  std::string chain;
  std::string about;  // describes its largest tensor
  uint64_t bytes = 0;
  int device = -1;
  std::vector<Memory> pieces;  // the largest first, at most kMaxPieces
};

class Cycles {
 public:
  explicit Cycles(const std::vector<Object*>& dead);
  Cycles(const Cycles&) = delete;
  Cycles& operator=(const Cycles&) = delete;

  // Returns the device memory that dead tensors and their graphs hold; living objects may hold it,
  // too.
  uint64_t bytes() const { return bytes_; }
  // Returns the cycles, those with the most bytes first.
  std::vector<Cycle> Largest();

 private:
  using Number = uint32_t;  // the number of a dead object
  static constexpr Number kNone = ~Number{0};
  static constexpr size_t kMaxObjects = 200'000;
  static constexpr size_t kMaxNodes = 100'000;
  static constexpr size_t kMaxParts = 512;
  static constexpr size_t kMaxReported = 8;
  static constexpr size_t kMaxPieces = 4096;

  // The device memory that one dead tensor holds.
  struct Held {
    Number tensor = kNone;
    uint64_t bytes = 0;
    std::vector<Memory> pieces;
    Memory largest;
    const Impl* impl = nullptr;  // the largest tensor
  };

  void AddMemory(const Impl* impl, Held* held);
  void AddGraph(Node* first, Held* held);
  void AddContext(Object* context, Held* held);
  void AddAttributes(Object* context, Held* held);
  Held HeldBy(Number number);
  void FindEdges();
  void FindParts();
  void FindNearest();
  std::vector<Number> RingOf(Number part) const;
  Number FaceOf(Number part) const;
  std::string DescribeRing(const std::vector<Number>& ring) const;
  static int VisitDead(Object* child, void* self);

  const std::vector<Object*>& dead_;
  std::unordered_map<const Object*, Number> numbers_;
  std::vector<size_t> first_edge_;  // index of each object's first edge, then of the end
  std::vector<Number> edges_;
  std::vector<Number> part_;                     // each object's part; kNone if it is in no ring
  std::vector<Number> nearest_;                  // the nearest part of each object
  std::vector<std::vector<Number>> part_items_;  // the objects of each part
  std::unordered_set<uint64_t> counted_;         // addresses of memory
  std::unordered_set<const Node*> nodes_;
  std::vector<Held> held_;
  uint64_t bytes_ = 0;
  size_t pieces_ = 0;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_CYCLES_H_
