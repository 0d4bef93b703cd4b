// CollectionLog: the garbage collections that the process reports to have run before a request
// failed.
//
// Idea: a collection is a sequence of marks (docs/trace-format.md): one that describes it, and one
// for each reference cycle that it broke. The next tensor of the same thread is the request; if it
// was served, the collection saved it.
//
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: malformed marks
// are ignored. Units: bytes, nanoseconds. Memory: bounded by kMaxCycles different cycles.
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

  // Adds `mark`, a kMark event. Returns false if it does not belong to a collection.
  bool Add(const Event& mark, std::string_view text);
  // Examines an event for which Add was not called or returned false.
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
  std::set<uint32_t> waiting_;  // threads whose request is retried
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_COLLECTION_LOG_H_
