#include "tools/analysis/accounts/cache_tally.h"

#include <algorithm>

namespace vramstow {

namespace {

// By default no call stacks of frees are recorded, so it is not known who emptied the cache.
constexpr char kUnknown[] = "unknown";

}  // namespace

void CacheTally::Taken(uint64_t bytes) {
  ++facts_.segments_taken;
  facts_.taken_bytes += bytes;
  if (facts_.flushes.empty()) return;
  FlushFacts& flush = facts_.flushes.back();
  flush.taken_again_bytes = std::min(flush.bytes, flush.taken_again_bytes + bytes);
}

void CacheTally::GivenBack(const Event& event, uint64_t bytes) {
  ++facts_.segments_given_back;
  facts_.given_back_bytes += bytes;
  if (!is_flushing_) {
    flush_ = {};
    flush_.time_ns = accounts_.now_ns();
    is_flushing_ = true;
    flush_site_ = accounts_.SiteOf(event);
  }
  ++flush_.segments;
  flush_.bytes += bytes;
  flush_.duration_ns = accounts_.now_ns() - flush_.time_ns;
  flush_event_ = accounts_.events();
}

void CacheTally::Trimmed(const Event& trim) {
  if (is_flushing_) flush_.by = trim.library != kUnknownName ? "empty_cache" : "vramstow";
}

void CacheTally::KeepFlush() {
  is_flushing_ = false;
  ++facts_.flush_count;
  if (facts_.flushes.size() == kMaxFlushes) return;
  facts_.flushes.push_back(flush_);
  flush_sites_.push_back(flush_site_);
  flush_events_.push_back(flush_event_);
}

CacheFacts CacheTally::Facts(const std::vector<SiteDetail>& sites) const {
  CacheFacts facts = facts_;
  for (size_t i = 0; i < flush_sites_.size(); ++i) {
    std::string& by = facts.flushes[i].by;
    const SiteDetail& site = sites[flush_sites_[i]];
    if (by.empty())
      by = !site.by_stack ? kUnknown : site.empties_cache ? "empty_cache" : "allocator";
    facts.flushes[i].line = site.empty_cache_line;
    facts.empty_cache_calls += by == "empty_cache" ? 1 : 0;
    facts.knows_empty_cache &= by != kUnknown;
  }
  return facts;
}

std::vector<uint64_t> CacheTally::EmptyCacheCalls(const CacheFacts& facts) const {
  std::vector<uint64_t> calls;
  for (size_t i = 0; i < facts.flushes.size(); ++i) {
    if (facts.flushes[i].by == "empty_cache") calls.push_back(flush_events_[i]);
  }
  return calls;
}

}  // namespace vramstow
