#include "tools/analysis/advice/card_of.h"

#include <string>

#include "absl/strings/str_split.h"

namespace vramstow {

const CardRates* RatesOfCard(const Facts& facts) {
  const auto spec = facts.trace_metadata.find("option.simulate");
  if (spec == facts.trace_metadata.end()) return nullptr;
  for (const absl::string_view item : absl::StrSplit(spec->second, ',')) {
    if (const CardRates* rates = FindCardRates({item.data(), item.size()})) return rates;
  }
  return nullptr;
}

}  // namespace vramstow
