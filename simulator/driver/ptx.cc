#include "simulator/driver/ptx.h"

#include <algorithm>
#include <charconv>

namespace vramstow::simulator {
namespace {

// Words and single characters; comments and blanks between them are skipped.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { Next(); }

  std::string_view token() const { return token_; }
  bool ended() const { return token_.empty(); }

  void Next() {
    SkipBlanks();
    size_t length = 0;
    while (length < text_.size() && IsWord(text_[length])) ++length;
    if (length == 0 && !text_.empty()) length = 1;
    token_ = text_.substr(0, length);
    text_.remove_prefix(length);
  }

  bool Take(std::string_view wanted) {
    if (token_ != wanted) return false;
    Next();
    return true;
  }

  // Behind the bracket that closes the one that was just taken.
  void SkipBlock() {
    for (int depth = 1; depth > 0 && !ended(); Next()) {
      if (token_ == "{") ++depth;
      if (token_ == "}") --depth;
    }
  }

  bool TakeNumber(uint64_t* number) {
    const auto [end, error] =
        std::from_chars(token_.data(), token_.data() + token_.size(), *number);
    if (error != std::errc() || end != token_.data() + token_.size()) return false;
    Next();
    return true;
  }

 private:
  static bool IsWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.' || c == '%';
  }

  void SkipBlanks() {
    while (!text_.empty()) {
      if (text_[0] == ' ' || (text_[0] >= '\t' && text_[0] <= '\r')) {
        text_.remove_prefix(1);
      } else if (text_.starts_with("//")) {
        text_.remove_prefix(std::min(text_.find('\n'), text_.size()));
      } else if (text_.starts_with("/*")) {
        const size_t end = text_.find("*/");
        text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 2);
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  std::string_view token_;
};

// Bytes of ".u64", ".b8", …; 0 for what is no type.
uint64_t BytesOfType(std::string_view type) {
  if (type.size() < 3 || type[0] != '.') return 0;
  if (type == ".pred") return 1;
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(type.data() + 2, type.data() + type.size(), bits);
  const bool known = std::string_view("usbf").find(type[1]) != std::string_view::npos;
  return known && error == std::errc() && bits <= 128 ? bits / 8 : 0;
}

struct Variable {
  std::string_view name;
  uint64_t bytes = 0;
  uint64_t alignment = 1;
};

// ".align 8 .b8 name[16][4]" or ".u64 name"; False: something else.
bool ParseVariable(Tokens* tokens, Variable* variable) {
  constexpr uint64_t kBytesMax = 1ull << 40;
  uint64_t element = 0;
  uint64_t aligned = 0;
  while (!tokens->ended() && tokens->token()[0] == '.') {
    if (tokens->Take(".align")) {
      if (!tokens->TakeNumber(&aligned)) return false;
      continue;
    }
    element = std::max(element, BytesOfType(tokens->token()));
    tokens->Next();  // a type, or .ptr, .global and others that change nothing
  }
  if (element == 0 || tokens->ended()) return false;
  variable->name = tokens->token();
  variable->bytes = element;
  variable->alignment = std::max(aligned, element);
  tokens->Next();
  while (tokens->Take("[")) {
    uint64_t count = 0;
    if (tokens->token() != "]" && !tokens->TakeNumber(&count)) return false;
    if (!tokens->Take("]") || (count > 0 && variable->bytes > kBytesMax / count)) return false;
    variable->bytes *= count;
  }
  return true;
}

bool ParseParameters(Tokens* tokens, KernelImage* kernel) {
  uint64_t offset = 0;
  while (!tokens->Take(")")) {
    Variable parameter;
    if (!tokens->Take(".param") || !ParseVariable(tokens, &parameter)) return false;
    offset = (offset + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    if (offset + parameter.bytes > UINT32_MAX) return false;
    kernel->parameters.push_back(
        {static_cast<uint32_t>(offset), static_cast<uint32_t>(parameter.bytes)});
    offset += parameter.bytes;
    tokens->Take(",");
  }
  return true;
}

// ".maxntid 128, 1, 1": the product.
uint32_t ParseThreads(Tokens* tokens) {
  uint64_t product = 1;
  uint64_t size = 0;
  while (tokens->TakeNumber(&size)) {
    product *= std::min<uint64_t>(size, 1u << 16);
    if (!tokens->Take(",")) break;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(product, 1024));
}

// Static shared memory that a body declares.
void ParseBody(Tokens* tokens, KernelImage* kernel) {
  for (int depth = 1; depth > 0 && !tokens->ended();) {
    if (tokens->Take("{")) {
      ++depth;
    } else if (tokens->Take("}")) {
      --depth;
    } else if (tokens->Take(".shared")) {
      Variable variable;
      if (ParseVariable(tokens, &variable)) {
        kernel->shared_bytes += static_cast<uint32_t>(variable.bytes);
      }
    } else {
      tokens->Next();
    }
  }
}

bool ParseEntry(Tokens* tokens, Image* image) {
  if (tokens->ended()) return false;
  KernelImage& kernel = image->kernels[std::string(tokens->token())];
  kernel.parameters_known = true;
  tokens->Next();
  if (tokens->Take("(") && !ParseParameters(tokens, &kernel)) return false;
  while (!tokens->ended()) {
    if (tokens->Take(".maxntid") || tokens->Take(".reqntid")) {
      kernel.max_threads = ParseThreads(tokens);
    } else if (tokens->Take(";")) {
      return true;  // a declaration
    } else if (tokens->Take("{")) {
      ParseBody(tokens, &kernel);
      return true;
    } else {
      tokens->Next();
    }
  }
  return false;
}

}  // namespace

ImageError ParsePtx(std::string_view text, Image* image) {
  Image parsed;
  Tokens tokens(text);
  if (!tokens.Take(".version")) return ImageError::kInvalidPtx;
  while (!tokens.ended()) {
    if (tokens.Take(".entry")) {
      if (!ParseEntry(&tokens, &parsed)) return ImageError::kInvalidPtx;
    } else if (tokens.Take(".global") || tokens.Take(".const")) {
      Variable variable;
      if (ParseVariable(&tokens, &variable)) {
        parsed.variables[std::string(variable.name)] = variable.bytes;
      }
    } else if (tokens.Take("{")) {
      tokens.SkipBlock();  // the body of a function, or a variable's values
    } else {
      tokens.Next();
    }
  }
  parsed.complete = true;
  *image = std::move(parsed);
  return ImageError::kNone;
}

}  // namespace vramstow::simulator
