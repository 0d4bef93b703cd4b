// Groups merges holders whose chains differ only in numbers into one line each.
//
// Idea: a user regards `hist[0].grad_fn` to `hist[11].grad_fn` as one holder. Numbers may differ if
// they are in brackets, or if they follow a point and name a part of a module. All other digits
// belong to names and must be equal.
//
// Ownership: copies. Threads: one at a time. Errors: none. Units: bytes.
#ifndef VRAMSTOW_ADAPTERS_TORCH_CENSUS_GROUPS_H_
#define VRAMSTOW_ADAPTERS_TORCH_CENSUS_GROUPS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace vramstow::torch_census {

struct Holding;  // census.h

struct HoldingGroup {
  std::string holder;  // "train: hist[0..11].grad_fn"
  std::string about;   // describes its largest block
  int role = 0;        // taken from its largest block
  int device = 0;      // taken from its largest block
  uint64_t bytes = 0;
  uint64_t blocks = 0;
};

class Groups {
 public:
  void Add(const Holding& holding);
  // Returns the groups, those with the most bytes first.
  std::vector<HoldingGroup> Take();

 private:
  struct Group {
    std::vector<std::string> texts;  // the texts between the numbers
    std::vector<std::set<uint64_t>> numbers;
    HoldingGroup facts;
    uint64_t largest = 0;
  };
  std::map<std::string, Group> groups_;
};

}  // namespace vramstow::torch_census

#endif  // VRAMSTOW_ADAPTERS_TORCH_CENSUS_GROUPS_H_
