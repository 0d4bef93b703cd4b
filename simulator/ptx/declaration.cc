#include "simulator/ptx/declaration.h"

#include <algorithm>
#include <cstring>

#include "simulator/ptx/literal.h"

namespace vramstow::simulator::ptx {
namespace {

constexpr uint64_t kBytesMax = 1ull << 40;
constexpr uint64_t kInitialMax = 64ull << 20;
constexpr uint64_t kAlignmentMax = 1ull << 20;

// Parses one number or address and writes it into `width` bytes at `offset`.
bool ParseElement(Tokens* tokens, uint64_t width, uint64_t offset, InitialValue* value) {
  const bool generic = tokens->Take("generic");
  if (generic && !tokens->Take("(")) return false;
  Literal literal;
  if (ParseLiteral(tokens, &literal)) {
    if (generic) return false;
    uint64_t bits = literal.bits;
    if (literal.kind == Literal::kDouble && width == 4) bits = ToSingle(literal).bits;
    if (width > sizeof(bits)) return false;
    if (value->bytes.size() < offset + width) value->bytes.resize(offset + width);
    memcpy(value->bytes.data() + offset, &bits, width);
    return true;
  }
  if (!tokens->IsWord() || width != 8) return false;
  AddressValue address;
  address.offset = offset;
  address.name = tokens->token();
  tokens->Next();
  if (generic && !tokens->Take(")")) return false;
  if (tokens->Take("+") && !tokens->TakeNumber(&address.addend)) return false;
  if (value->bytes.size() < offset + width) value->bytes.resize(offset + width);
  value->addresses.push_back(std::move(address));
  return true;
}

}  // namespace

Type ParseType(std::string_view word) {
  struct Row {
    const char* name;
    Type type;
  };
  static constexpr Row kRows[] = {{"pred", {'p', 1}}, {"b8", {'b', 8}},    {"b16", {'b', 16}},
                                  {"b32", {'b', 32}}, {"b64", {'b', 64}},  {"u8", {'u', 8}},
                                  {"u16", {'u', 16}}, {"u32", {'u', 32}},  {"u64", {'u', 64}},
                                  {"s8", {'s', 8}},   {"s16", {'s', 16}},  {"s32", {'s', 32}},
                                  {"s64", {'s', 64}}, {"f16", {'f', 16}},  {"f32", {'f', 32}},
                                  {"f64", {'f', 64}}, {"b128", {'b', 128}}};
  for (const Row& row : kRows) {
    if (word == row.name) return row.type;
  }
  return {};
}

bool ParseVariable(Tokens* tokens, Variable* variable) {
  Type element;
  uint64_t aligned = 0;
  while (!tokens->ended() && tokens->token()[0] == '.') {
    if (tokens->Take(".align")) {
      if (!tokens->TakeNumber(&aligned) || aligned > kAlignmentMax) return false;
      continue;
    }
    const Type type = ParseType(tokens->token().substr(1));
    if (type) element = type;
    tokens->Next();  // a type, or .ptr, .global or another word without effect
  }
  if (!element || tokens->ended()) return false;
  variable->name = tokens->token();
  variable->element_bytes = element.bytes();
  variable->bytes = element.bytes();
  variable->alignment = std::max(aligned, element.bytes());
  tokens->Next();
  while (tokens->Take("[")) {
    uint64_t count = 0;
    variable->unbounded = tokens->token() == "]";
    if (!variable->unbounded && !tokens->TakeNumber(&count)) return false;
    if (!tokens->Take("]") || (count > 0 && variable->bytes > kBytesMax / count)) return false;
    variable->bytes *= count;
  }
  return true;
}

bool ParseInitialValue(Tokens* tokens, const Variable& variable, InitialValue* value) {
  uint64_t offset = 0;
  int depth = 0;
  do {
    while (tokens->Take("{")) ++depth;
    if (depth > 1) return false;  // lists of lists may leave gaps
    if (depth > 0 && tokens->token() == "}") {
      // An empty list has no values.
    } else if (offset >= kInitialMax ||
               !ParseElement(tokens, variable.element_bytes, offset, value)) {
      return false;
    }
    offset += variable.element_bytes;
    while (depth > 0 && tokens->Take("}")) --depth;
  } while (depth > 0 && tokens->Take(","));
  return depth == 0 && value->bytes.size() <= std::max(variable.bytes, offset);
}

}  // namespace vramstow::simulator::ptx
