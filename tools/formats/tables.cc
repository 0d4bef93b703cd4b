#include "tools/formats/tables.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "tools/base/utf8.h"

namespace vramstow {

TextTable::TextTable() { Intern(""); }

TextId TextTable::Intern(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  if (!IsUtf8(text)) return Intern(CleanUtf8(text));
  const auto number = static_cast<TextId>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(texts_.back(), number);
  return number;
}

StackTable::StackTable() : starts_{0} { InternStack({}); }

FrameId StackTable::InternFrame(const Frame& frame) {
  const auto [place, is_new] =
      frame_numbers_.try_emplace(frame, static_cast<FrameId>(frames_.size()));
  if (is_new) frames_.push_back(frame);
  return place->second;
}

StackId StackTable::InternStack(std::span<const FrameId> frames) {
  const uint64_t hash = absl::HashOf(absl::MakeConstSpan(frames.data(), frames.size()));
  const auto number = static_cast<StackId>(stack_count());
  const auto [place, is_new] = stack_numbers_.try_emplace(hash, number);
  if (!is_new && std::ranges::equal(Stack(place->second), frames)) return place->second;
  stacked_.insert(stacked_.end(), frames.begin(), frames.end());
  starts_.push_back(stacked_.size());
  return number;
}

}  // namespace vramstow
