// GraphList: a list of the program's whose items hold autograd graphs, according to a census (a
// reference scan).
//
// Idea: each item of such a list is usually the result of one iteration of a loop, also where
// nothing else shows iterations.
//
// Ownership: refers to the lives of a FailureMoment. Threads: pure functions, callable from any
// thread. Errors: none; without a census the list is empty. Units: none.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ADVICE_GRAPH_LIST_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ADVICE_GRAPH_LIST_H_

#include <map>
#include <string>
#include <vector>

#include "tools/analysis/explain/failure_moment.h"

namespace vramstow {

struct GraphList {
  std::string name;
  // The blocks of the autograd graphs that each item holds. Call sites that did not run for at
  // least kLeastPasses of the items are left out, because no iterations of a loop made them.
  std::map<std::string, std::vector<const Life*>> by_item;

  // Returns the blocks of all items, in order of birth.
  std::vector<const Life*> All() const;
};

// Returns the list whose items' graphs hold the most bytes. A list of a forward() has results of
// layers, which are no iterations.
GraphList LargestGraphList(const FailureMoment& moment);

// True if the list has more items than there are parameters, so that one model made several of
// them: if each item were the result of a layer, each layer would have a parameter of its own.
bool IsOfOneModel(const FailureMoment& moment, const GraphList& list);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ADVICE_GRAPH_LIST_H_
