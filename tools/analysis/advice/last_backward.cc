#include "tools/analysis/advice/last_backward.h"

#include <vector>

namespace vramstow {

LastBackward LastBackwardOf(const FailureMoment& moment) {
  return LastBackwardBefore(moment, moment.event());
}

LastBackward LastBackwardBefore(const FailureMoment& moment, uint64_t end) {
  LastBackward last;
  const std::vector<Life>& lives = moment.detail().lives;
  for (size_t i = lives.size(); i-- > 0;) {
    const Life& life = lives[i];
    if (life.birth >= end || !life.tensor || life.pending) continue;
    const SiteDetail& site = moment.site_of(life);
    if (site.in_backward) {
      last.begin = life.birth;
      if (last.end == 0) last.end = life.birth;
    } else if (last.end != 0 && site.phase != Phase::kWorkspace && !site.own.empty()) {
      break;
    }
  }
  return last;
}

}  // namespace vramstow
