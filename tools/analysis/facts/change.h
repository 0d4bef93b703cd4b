// Change: the effect of a piece of advice on the program's requests, up to the request that failed.
//
// Idea: advice can be tried without the program. The recorded requests are changed as the advice
// says, and the changed requests are replayed (tools/replay/proof.h).
//
// Ownership: plain values. Threads: plain values without synchronisation. Errors: none. Units:
// bytes; events are counted from 1.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_FACTS_CHANGE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_FACTS_CHANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vramstow {

struct LifeChange {
  static constexpr uint64_t kAsBefore = ~uint64_t{0};

  uint32_t life = 0;         // in Detail::lives
  uint64_t bytes = 0;        // the new requested size; 0 if it is not requested
  uint64_t end = kAsBefore;  // freed before this event, if that is sooner
};

struct Change {
  std::vector<LifeChange> lives = {};  // each life once
  // The new size of the failed request; 0 if the request is not made.
  std::optional<uint64_t> requested = {};
  uint64_t spared_later = 0;  // bytes that would have been requested after it
  bool shares_pool = false;   // private pools become one
  bool keeps_cache = false;   // the calls of empty_cache() are left out
  // The name of another allocator for the replay; empty if the allocator is unchanged.
  std::string allocator = {};

  // False if the advice changes no requests.
  bool known() const {
    return !lives.empty() || requested.has_value() || shares_pool || keeps_cache ||
           !allocator.empty();
  }
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_FACTS_CHANGE_H_
