// JsonWalk: goes through a JSON text of any length once, telling each number, text, list and object
// with how deep it lies and under which key.
//
// Idea: traces have gigabytes, of which a reader keeps little. nlohmann's parser is asked for
// events, not for a document; it does not recurse, and what it keeps for each level of nesting is
// one bit. JsonRepair goes before it: what PyTorch's profiler writes is not always JSON.
//
// Use: derive from JsonVisitor, override what is of interest. Depth is 1 for what lies directly in
// the outermost list or object. Keys are kept for the first kKeptKeys depths.
//
// Ownership: texts live during the call. Threads: one. Errors: kDataLoss for damage (with the
// byte), after everything before it was told; what the GzipStream says for packed input. Units:
// bytes.
#ifndef VRAMSTOW_TOOLS_FORMATS_JSON_WALK_H_
#define VRAMSTOW_TOOLS_FORMATS_JSON_WALK_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/formats/input.h"

namespace vramstow {

// A number as it is written, so that nothing is rounded.
struct JsonNumber {
  enum class Kind { kSigned, kUnsigned, kReal } kind = Kind::kSigned;
  int64_t number = 0;            // of kSigned
  uint64_t unsigned_number = 0;  // of kUnsigned
  double real = 0;               // of kReal
  std::string_view text;         // of kReal: the digits

  // Clamped to what the type can say; 0 for what is no number at all.
  int64_t AsSigned() const;
  uint64_t AsUnsigned() const;
  // Thousandths of it: nanoseconds from microseconds, exact for numbers without an exponent.
  int64_t Thousandths() const;
};

class JsonVisitor {
 public:
  static constexpr int kKeptKeys = 4;

  virtual ~JsonVisitor() = default;
  virtual void Number(const JsonNumber& number) = 0;
  virtual void Text(std::string_view text) = 0;
  // Depth counts the list or object itself when it begins or ends.
  virtual void Begin(bool is_object) = 0;
  virtual void End() = 0;

 protected:
  // How many lists and objects are open.
  int depth() const { return depth_; }
  // The key at a depth, from 1; empty in a list and beyond kKeptKeys.
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
