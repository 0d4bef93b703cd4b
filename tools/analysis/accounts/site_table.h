// SiteTable: gives numbers to call sites. A call site is a call stack if the source records call
// stacks, and otherwise a library and an entry point.
// Ownership: keeps its own copies. Threads: used by one thread at a time. Errors: none. Units:
// none. Memory: proportional to the call sites. Cost: a comparison if the previous event has the
// same call site, otherwise one look-up.
#ifndef VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_TABLE_H_
#define VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/event.h"

namespace vramstow {

class SiteTable {
 public:
  struct Site {
    uint32_t stack = 0;  // the source's number; 0 if there is none
    uint16_t library = kUnknownName;
    uint16_t call = kUnknownName;
  };

  SiteTable() : sites_(1) {}

  // Returns the number of a call site. Number 0 means no call site.
  uint32_t Find(uint32_t stack, uint16_t library, uint16_t call) {
    const uint64_t key = stack != 0 ? kStack | stack : (uint64_t{library} << 16 | call);
    if (key == last_key_) return last_site_;
    last_key_ = key;
    const auto [known, inserted] = numbers_.try_emplace(key, static_cast<uint32_t>(sites_.size()));
    if (inserted) sites_.push_back({.stack = stack, .library = library, .call = call});
    return last_site_ = known->second;
  }

  const std::vector<Site>& sites() const { return sites_; }

 private:
  static constexpr uint64_t kStack = uint64_t{1} << 63;

  absl::flat_hash_map<uint64_t, uint32_t> numbers_;
  std::vector<Site> sites_;
  uint64_t last_key_ = ~uint64_t{0};
  uint32_t last_site_ = 0;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_ANALYSIS_ACCOUNTS_SITE_TABLE_H_
