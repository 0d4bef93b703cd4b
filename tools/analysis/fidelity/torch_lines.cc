#include "tools/analysis/fidelity/torch_lines.h"

#include <algorithm>
#include <string_view>

namespace vramstow {
namespace {

// Returns "torch/nn/modules/module.py" for a file of an installed PyTorch; empty for any other
// file.
std::string_view WithinTorch(std::string_view file) {
  constexpr std::string_view kPackage = "-packages/torch/";
  const size_t place = file.rfind(kPackage);
  if (place == std::string_view::npos || !file.ends_with(".py")) return {};
  return file.substr(place + kPackage.size() - std::string_view("torch/").size());
}

}  // namespace

void TorchLines::Add(const std::vector<CallFrame>& frames) {
  for (const CallFrame& frame : frames) {
    const std::string_view file = WithinTorch(frame.file);
    if (file.empty() || frame.line == 0) continue;
    const std::string_view name = frame.function.substr(frame.function.rfind('.') + 1);
    Function& function = functions_[{std::string(file), std::string(name)}];
    function.lines.insert(frame.line);
    ++function.times;
  }
}

std::optional<MovedFunction> TorchLines::FirstMoved(const TorchLines& card,
                                                    const TorchLines& rehearsed) {
  uint64_t same = 0;
  uint64_t moved = 0;
  uint64_t most = 0;
  MovedFunction first;
  for (const auto& [name, left] : card.functions_) {
    const auto known = rehearsed.functions_.find(name);
    if (known == rehearsed.functions_.end()) continue;
    const Function& right = known->second;
    // The lines of a function agree if both sides have one call on the same line, because each side
    // may have seen different calls of the function.
    const bool agrees = std::ranges::any_of(
        left.lines, [&right](uint32_t line) { return right.lines.contains(line); });
    ++(agrees ? same : moved);
    if (agrees || left.times <= most) continue;
    most = left.times;
    first = {name.first, name.second, *left.lines.begin(), *right.lines.begin()};
  }
  if (moved <= same) return std::nullopt;
  return first;
}

}  // namespace vramstow
