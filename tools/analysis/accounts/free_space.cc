#include "tools/analysis/accounts/free_space.h"

namespace vramstow {

void FreeSpace::SavePeak() {
  peak_of_ = accounts_.levels().peak_event();
  peak_ = Now();
}

void FreeSpace::NoteWorst(const FreeMemory& state, uint64_t time_ns) {
  if (state.unusable_bytes <= worst_.unusable_bytes) return;
  worst_ = state;
  worst_time_ns_ = time_ns;
}

void FreeSpace::FillFacts(FragmentationFacts* facts) const {
  facts->in_pool = pool_.any();
  facts->moves = pool_.moves();
  facts->any_ranges = facts->in_pool || addresses_.any_ranges();
  facts->largest_request_bytes = accounts_.largest_request();
  facts->at_peak = peak_;
  facts->at_end = Now();
  facts->worst = worst_;
  facts->worst_time_ns = worst_time_ns_;
  if (facts->at_end.unusable_bytes >= facts->worst.unusable_bytes) {
    facts->worst = facts->at_end;
    facts->worst_time_ns = accounts_.now_ns();
  }
}

}  // namespace vramstow
