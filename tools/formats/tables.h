// TextTable and StackTable store each text, frame and call stack once and refer to it by number.
//
// Idea: a snapshot repeats a few thousand stacks a million times.
//
// Ownership: the tables own their data; views are valid as long as the table. Movable. Threads:
// const calls are safe from any thread. Errors: none. Units: none.
#ifndef VRAMSTOW_TOOLS_FORMATS_TABLES_H_
#define VRAMSTOW_TOOLS_FORMATS_TABLES_H_

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace vramstow {

using TextId = uint32_t;
using FrameId = uint32_t;
using StackId = uint32_t;

inline constexpr TextId kNoText = 0;    // the empty text
inline constexpr StackId kNoStack = 0;  // no frames

class TextTable {
 public:
  TextTable();
  // Returns the number of the text; equal texts have the same number. Invalid UTF-8 in the text is
  // replaced.
  TextId Intern(std::string_view text);
  std::string_view Text(TextId text) const { return texts_[text]; }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque, so that views stay valid
  absl::flat_hash_map<std::string_view, TextId> numbers_;
};

// One level of a call stack. The fx_ texts are set for code that torch.compile generated.
struct Frame {
  TextId name = kNoText;
  TextId filename = kNoText;
  uint32_t line = 0;
  TextId fx_node_op = kNoText;
  TextId fx_node_name = kNoText;
  TextId fx_node_info = kNoText;
  TextId fx_original_trace = kNoText;

  bool operator==(const Frame&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Frame& f) {
    return H::combine(std::move(h), f.name, f.filename, f.line, f.fx_node_op, f.fx_node_name,
                      f.fx_node_info, f.fx_original_trace);
  }
};

class StackTable {
 public:
  StackTable();
  FrameId InternFrame(const Frame& frame);
  // Returns the number of a call stack. `frames` begins with the innermost frame, as in PyTorch.
  StackId InternStack(std::span<const FrameId> frames);

  const Frame& FrameOf(FrameId frame) const { return frames_[frame]; }
  std::span<const FrameId> Stack(StackId stack) const {
    return {stacked_.data() + starts_[stack], starts_[stack + 1] - starts_[stack]};
  }
  size_t frame_count() const { return frames_.size(); }
  size_t stack_count() const { return starts_.size() - 1; }

 private:
  std::vector<Frame> frames_;
  absl::flat_hash_map<Frame, FrameId> frame_numbers_;
  std::vector<FrameId> stacked_;
  std::vector<uint64_t> starts_;  // start of each stack in stacked_, and the end
  // Maps a hash of the frames to the first stack that has this hash. It is very unlikely that two
  // different stacks have the same hash. Then the later stack is not found and may be stored
  // several times, but stacks are never confused.
  absl::flat_hash_map<uint64_t, StackId> stack_numbers_;
};

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_TABLES_H_
