#include "tools/formats/json_walk.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <streambuf>

#include "tools/formats/json_repair.h"
#include "tools/formats/text_helpers.h"
#include "tools/formats/unpack.h"

namespace vramstow {
namespace {

constexpr size_t kLongestKey = 256;  // no reader looks for longer keys

int64_t Clamped(double real) {
  if (real != real) return 0;
  if (real >= 9.2e18) return std::numeric_limits<int64_t>::max();
  if (real <= -9.2e18) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(real);
}

int64_t TimesThousand(int64_t number) {
  int64_t product;
  if (__builtin_mul_overflow(number, int64_t{1000}, &product)) {
    return number < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
  return product;
}

}  // namespace

int64_t JsonNumber::AsSigned() const {
  constexpr uint64_t kMax = uint64_t{std::numeric_limits<int64_t>::max()};
  if (kind == Kind::kSigned) return number;
  if (kind == Kind::kUnsigned) return static_cast<int64_t>(std::min(unsigned_number, kMax));
  return Clamped(real);
}

uint64_t JsonNumber::AsUnsigned() const {
  if (kind == Kind::kUnsigned) return unsigned_number;
  return static_cast<uint64_t>(std::max(AsSigned(), int64_t{0}));
}

int64_t JsonNumber::Thousandths() const {
  if (kind != Kind::kReal) return TimesThousand(AsSigned());
  const size_t dot = text.find('.');
  const auto whole = ParseNumber<int64_t>(text.substr(0, dot));
  if (dot == std::string_view::npos || !whole) return Clamped(real * 1000);
  std::string_view fraction = text.substr(dot + 1, 3);
  if (text.find_first_not_of("0123456789", dot + 1) != std::string_view::npos) {
    return Clamped(real * 1000);  // the number has an exponent
  }
  int64_t thousandths = ParseNumber<int64_t>(fraction).value_or(0);
  for (size_t i = fraction.size(); i < 3; ++i) thousandths *= 10;
  const int64_t base = TimesThousand(*whole);
  int64_t sum;
  const bool overflow = text.starts_with('-') ? __builtin_sub_overflow(base, thousandths, &sum)
                                              : __builtin_add_overflow(base, thousandths, &sum);
  return overflow ? base : sum;
}

// Connects nlohmann's parser to the visitor. The parser's interface defines the names of the
// functions below.
class JsonWalker : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonWalker(JsonVisitor* visitor) : visitor_(visitor) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override {
    visitor_->Number({.kind = JsonNumber::Kind::kSigned, .number = value, .text = {}});
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    visitor_->Number({.kind = JsonNumber::Kind::kUnsigned, .unsigned_number = value, .text = {}});
    return true;
  }
  bool number_float(number_float_t value, const string_t& text) override {
    visitor_->Number({.kind = JsonNumber::Kind::kReal, .real = value, .text = text});
    return true;
  }
  bool string(string_t& text) override {
    visitor_->Text(text);
    return true;
  }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& text) override {
    if (visitor_->depth_ <= JsonVisitor::kKeptKeys) {
      Key() = text.size() <= kLongestKey ? text : std::string();
    }
    return true;
  }
  bool start_object(size_t) override { return Start(true); }
  bool start_array(size_t) override { return Start(false); }
  bool end_object() override { return Stop(); }
  bool end_array() override { return Stop(); }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error_position_ = position;
    return false;
  }

  size_t error_position() const { return error_position_; }

 private:
  std::string& Key() { return visitor_->keys_[static_cast<size_t>(visitor_->depth_)]; }
  bool Start(bool is_object) {
    ++visitor_->depth_;
    if (visitor_->depth_ <= JsonVisitor::kKeptKeys) Key().clear();
    visitor_->Begin(is_object);
    return true;
  }
  bool Stop() {
    visitor_->End();
    --visitor_->depth_;
    return true;
  }

  JsonVisitor* visitor_;
  size_t error_position_ = 0;
};

namespace {

// A stream that reads bytes in memory.
class BytesStream : public std::streambuf {
 public:
  explicit BytesStream(std::string_view bytes) {
    char* const start = const_cast<char*>(bytes.data());
    setg(start, start, start + bytes.size());
  }
};

absl::Status WalkStream(std::streambuf* source, JsonVisitor* visitor) {
  JsonRepair repair(source);
  std::istream stream(&repair);
  JsonWalker walker(visitor);
  if (nlohmann::json::sax_parse(stream, &walker)) return absl::OkStatus();
  return absl::DataLossError(Concat("the JSON is damaged or ends early at byte ",
                                    repair.SourcePosition(walker.error_position())));
}

}  // namespace

absl::Status WalkJson(const Input& input, JsonVisitor* visitor) {
  if (!input.is_packed_text()) {
    BytesStream bytes(input.bytes());
    return WalkStream(&bytes, visitor);
  }
  GzipStream packed(input.bytes(), input.limits());
  absl::Status walked = WalkStream(&packed, visitor);
  return packed.status().ok() ? walked : packed.status();
}

}  // namespace vramstow
