#include "simulator/kernels/named/name.h"

#include <charconv>

namespace vramstow::simulator {
namespace {

constexpr std::string_view kNamespaces[] = {"(anonymous namespace)::",
                                            "at::native::",
                                            "binary_internal::",
                                            "templates::cuda::",
                                            "memory::",
                                            "at::cuda::detail::",
                                            "at::cuda::",
                                            "c10::",
                                            "at::"};

bool IsOpening(char c) { return c == '<' || c == '(' || c == '{' || c == '['; }
bool IsClosing(char c) { return c == '>' || c == ')' || c == '}' || c == ']'; }

// Returns the position of the first character of `wanted` outside of all brackets, or npos.
size_t FindOutside(std::string_view text, std::string_view wanted) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (depth == 0 && wanted.find(text[i]) != std::string_view::npos) return i;
    if (IsOpening(text[i])) ++depth;
    if (IsClosing(text[i])) --depth;
    if (depth < 0) return std::string_view::npos;
  }
  return std::string_view::npos;
}

// Returns the position of the bracket that closes the one at `open`, or npos.
size_t FindClosing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (IsOpening(text[i])) ++depth;
    if (IsClosing(text[i]) && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

int NumberAfter(std::string_view text, size_t at) {
  int number = 0;
  if (at < text.size() && text[at] == '#') {
    std::from_chars(text.data() + at + 1, text.data() + text.size(), number);
  }
  return number;
}

}  // namespace

std::string Simplify(std::string_view demangled) {
  std::string simple;
  simple.reserve(demangled.size());
  for (size_t i = 0; i < demangled.size();) {
    bool dropped = false;
    // A namespace is recognized only at the beginning of an identifier: "at::" is not matched in
    // "std::format::".
    const char before = simple.empty() ? ' ' : simple.back();
    const bool begins =
        before != ':' && before != '_' && isalnum(static_cast<unsigned char>(before)) == 0;
    for (const std::string_view name : kNamespaces) {
      if (begins && demangled.substr(i).starts_with(name)) {
        i += name.size();
        dropped = true;
        break;
      }
    }
    if (!dropped) simple += demangled[i++];
  }
  return simple;
}

std::vector<std::string_view> SplitList(std::string_view text) {
  std::vector<std::string_view> parts;
  text = Trim(text);
  while (!text.empty()) {
    const size_t comma = FindOutside(text, ",");
    parts.push_back(Trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return parts;
}

TemplateName ParseTemplate(std::string_view text) {
  TemplateName name;
  const size_t open = FindOutside(text, "<(");
  name.head = text.substr(0, open);
  if (open == std::string_view::npos) return name;
  if (text[open] == '(') {
    name.rest = text.substr(open);
    return name;
  }
  const size_t close = FindClosing(text, open);
  if (close == std::string_view::npos) return name;
  name.arguments = SplitList(text.substr(open + 1, close - open - 1));
  name.rest = text.substr(close + 1);
  return name;
}

TemplateName ParseKernel(std::string_view simplified) {
  if (simplified.starts_with("void ")) simplified.remove_prefix(5);
  return ParseTemplate(simplified);
}

FunctorName ParseFunctor(std::string_view text) {
  constexpr std::string_view kLambda = "{lambda(";
  FunctorName name;
  const TemplateName outer = ParseTemplate(text);
  name.head = outer.head;
  name.arguments = outer.arguments;
  // Several lambdas may follow outside of all brackets; the last one is the functor.
  std::string_view rest = outer.rest;
  while (true) {
    const size_t brace = FindOutside(rest, "{");
    if (brace == std::string_view::npos || !rest.substr(brace).starts_with(kLambda)) break;
    const size_t end = FindClosing(rest, brace);
    const size_t list = brace + kLambda.size() - 1;
    const size_t list_end = FindClosing(rest, list);
    if (end == std::string_view::npos || list_end == std::string_view::npos) break;
    name.number = NumberAfter(rest, list_end + 1);
    rest.remove_prefix(end + 1);
  }
  return name;
}

}  // namespace vramstow::simulator
