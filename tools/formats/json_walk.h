// JsonWalk reads a JSON text of any length once and calls a visitor for each number, text, list and
// object, with its depth and its keys.
//
// Idea: a trace may have gigabytes, and a reader stores only a small part of it. nlohmann's parser
// is used as a source of events, without a document. It does not recurse, and it stores one bit for
// each level of nesting. JsonRepair filters the text before it is parsed, because PyTorch's
// profiler does not always write valid JSON.
//
// Use: derive from JsonVisitor and override the functions of interest. Depth is 1 for a value
// directly in the outermost list or object. Keys are stored for the first kKeptKeys depths.
//
// Ownership: texts are valid during the call. Threads: one. Errors: kDataLoss for damage, with the
// number of the damaged byte, after the visitor has received everything before it; for packed input
// the errors of GzipStream. Units: bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_JSON_WALK_H_
#define VRAMSTOW_TOOLS_FORMATS_JSON_WALK_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/formats/input.h"

namespace vramstow {

// A number as text, exactly as it is written, so that it is not rounded.
struct JsonNumber {
  enum class Kind { kSigned, kUnsigned, kReal } kind = Kind::kSigned;
  int64_t number = 0;            // for kSigned
  uint64_t unsigned_number = 0;  // for kUnsigned
  double real = 0;               // for kReal
  std::string_view text;         // for kReal: the digits

  // Return the number clamped to the type's range; NaN becomes 0.
  int64_t AsSigned() const;
  uint64_t AsUnsigned() const;
  // Returns the number times 1000, which converts microseconds to nanoseconds. The result is exact
  // for numbers without an exponent.
  int64_t Thousandths() const;
};

class JsonVisitor {
 public:
  static constexpr int kKeptKeys = 4;

  virtual ~JsonVisitor() = default;
  virtual void Number(const JsonNumber& number) = 0;
  virtual void Text(std::string_view text) = 0;
  // While Begin or End runs, depth() counts the list or object that begins or ends, too.
  virtual void Begin(bool is_object) = 0;
  virtual void End() = 0;

 protected:
  // The number of open lists and objects.
  int depth() const { return depth_; }
  // Returns the key of the member that is read at this depth; depths are counted from 1. The key is
  // empty in a list, and at depths greater than kKeptKeys.
  std::string_view key(int depth) const {
    return depth >= 1 && depth <= kKeptKeys ? std::string_view(keys_[static_cast<size_t>(depth)])
                                            : std::string_view();
  }

 private:
  friend class JsonWalker;
  int depth_ = 0;
  std::array<std::string, kKeptKeys + 1> keys_;
};

absl::Status WalkJson(const Input& input, JsonVisitor* visitor);

}  // namespace vramstow

#endif  // VRAMSTOW_TOOLS_FORMATS_JSON_WALK_H_
