#include "tools/analysis/facts/operator_name.h"

namespace vramstow {

std::string_view PlainOperator(std::string_view name) {
  constexpr std::string_view kStructured = "structured_";
  constexpr std::string_view kOut = "_out_cuda";
  if (name.starts_with(kStructured)) name.remove_prefix(kStructured.size());
  if (name.ends_with(kOut)) name.remove_suffix(kOut.size());
  for (size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] == '_' && name[i + 1] >= 'A' && name[i + 1] <= 'Z') return name.substr(0, i);
  }
  return name;
}

}  // namespace vramstow
