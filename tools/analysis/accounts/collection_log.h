// CollectionLog: garbage that was collected before a request failed, as the process told it.
//
// Idea: a collection is a row of marks (docs/trace-format.md): one that says what it was, and one
// for each cycle that it took apart. The next tensor of the same thread is the request: served, it
// was saved.
//
// Ownership: copies. Threads: one at a time. Errors: a mark that is not as it should be is left
// out. Units: bytes, nanoseconds. Memory: kMaxCycles cycles that are told differently.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_COLLECTION_LOG_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_COLLECTION_LOG_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/event.h"
#include "tools/analysis/facts/facts.h"

namespace vramstow {

class CollectionLog {
 public:
  static constexpr size_t kMaxCycles = 256;

  // `mark`: a kMark. False: it is no part of a collection.
  bool Add(const Event& mark, std::string_view text);
  // Every other event.
  void Note(const Event& event) {
    if (!waiting_.empty()) Decide(event);
  }

  GarbageFacts Facts() const;

 private:
  void Begin(const Event& mark, std::string_view text);
  void AddCycle(std::string_view text);
  void Decide(const Event& event);

  GarbageFacts facts_;
  std::map<std::string, CycleFacts> cycles_;
  std::set<uint32_t> waiting_;  // threads whose request is tried again
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_COLLECTION_LOG_H_
