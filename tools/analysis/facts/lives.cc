#include "tools/analysis/facts/lives.h"

#include <algorithm>

namespace vramstow {

void Lives::DropHalf() {
  std::vector<double> areas;
  areas.reserve(lives_.size());
  for (const Life& life : lives_) areas.push_back(AreaOf(life));
  const auto middle = areas.begin() + static_cast<ptrdiff_t>(areas.size() / 2);
  std::nth_element(areas.begin(), middle, areas.end());
  least_area_ = std::max(least_area_, *middle);
  const size_t before = lives_.size();
  std::erase_if(lives_, [this](const Life& life) { return AreaOf(life) < least_area_; });
  left_out_ += before - lives_.size();
}

}  // namespace vramstow
