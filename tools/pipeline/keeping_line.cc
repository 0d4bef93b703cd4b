#include "tools/pipeline/keeping_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "tools/base/program_text.h"

namespace vramstow {
namespace {

constexpr size_t kMaxFiles = 200;

using Lines = std::vector<std::string>;

bool IsOfName(char c) { return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c)); }

std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Python's queues store their items in an attribute with one of these names.
bool IsOfQueue(std::string_view name) { return name == "queue" || name == "_queue"; }

std::string_view WithoutSpaces(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// Returns the text after the bracket that closes the first bracket of the text. Returns an empty
// text if no bracket closes it.
std::string_view AfterIndex(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']' && --depth == 0) return text.substr(i + 1);
  }
  return "";
}

// True for "= (*name, …)" and "= name + […]", which extend the container.
bool Extends(std::string_view rest, const std::string& name) {
  if (!rest.starts_with('=') || rest.starts_with("==")) return false;
  for (size_t at = rest.find(name); at != std::string_view::npos; at = rest.find(name, at + 1)) {
    const std::string_view behind = rest.substr(at + name.size());
    if (IsOfName(rest[at - 1]) || (!behind.empty() && IsOfName(behind.front()))) continue;
    if (rest[at - 1] == '*' || WithoutSpaces(behind).starts_with('+')) return true;
  }
  return false;
}

// True if the line adds elements to the container. `rest` is the text after the container's name.
bool Fills(std::string_view rest, const std::string& name) {
  static constexpr std::array<std::string_view, 10> kMethods = {
      ".append(", ".appendleft(", ".add(",        ".extend(", ".insert(",
      ".put(",    ".put_nowait(", ".setdefault(", ".update(", ".push("};
  rest = WithoutSpaces(rest);
  if (rest.starts_with("+=") || Extends(rest, name)) return true;
  if (std::ranges::any_of(kMethods, [&](auto method) { return rest.starts_with(method); })) {
    return true;
  }
  bool is_index = false;
  for (; rest.starts_with('['); is_index = true) {
    rest = WithoutSpaces(AfterIndex(rest));
  }
  return is_index && rest.starts_with('=') && !rest.starts_with("==");
}

size_t IndentOf(std::string_view line) { return line.find_first_not_of(" \t"); }

// Returns the lines of a function as the range [first, last), counted from 0. Returns an empty
// range if the function is not found.
std::pair<size_t, size_t> BodyOf(const Lines& lines, std::string_view function) {
  const std::string_view name = function.substr(function.rfind('.') + 1);
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t indent = IndentOf(lines[i]);
    if (indent == std::string::npos) continue;
    std::string_view text = std::string_view(lines[i]).substr(indent);
    if (text.starts_with("async ")) text.remove_prefix(6);
    if (!text.starts_with("def " + std::string(name) + "(")) continue;
    size_t end = i + 1;
    while (end < lines.size()) {
      const size_t at = IndentOf(lines[end]);
      const bool goes_on =
          at == std::string::npos || at > indent || lines[end][at] == '#' || lines[end][at] == ')';
      if (!goes_on) break;
      ++end;
    }
    return {i, end};
  }
  return {0, 0};
}

// Splits "train.py:45 step" into its file and its line.
std::pair<std::string_view, size_t> FileAndLine(std::string_view place) {
  const size_t colon = place.find(':');
  size_t line = 0;
  if (colon == std::string_view::npos) return {};
  std::from_chars(place.data() + colon + 1, place.data() + place.size(), line);
  return {place.substr(0, colon), line};
}

// The source files of the program that occur in call stacks.
class OwnFiles {
 public:
  OwnFiles(const Detail& detail, const std::string& trace) : detail_(detail) {
    const auto written = WhenWritten(trace);
    if (!written) return;
    const absl::flat_hash_set<std::string_view> own(detail.lines.begin(), detail.lines.end());
    for (size_t i = 0; i < detail.files.size() && files_.size() < kMaxFiles; ++i) {
      const std::string& path = detail.files[i];
      if (!path.ends_with(".py") || !own.contains(detail.frames[i])) continue;
      const auto [known, is_new] = files_.try_emplace(path);
      if (!is_new) continue;
      ProgramText text = ReadProgramText(path);
      if (text.changed && *text.changed <= *written) known->second = std::move(text.lines);
    }
  }

  std::string KeptAt(const AdviceFacts& advice) const {
    const Container container = ContainerOf(advice.holder);
    if (container.name.empty()) return "";
    const auto [made_in, made_at] = FileAndLine(advice.place);
    std::vector<std::pair<std::string_view, size_t>> found;  // file and line
    std::vector<std::pair<std::string_view, size_t>> behind;
    for (const auto& [path, lines] : files_) {
      const auto [first, last] = PartOf(path, lines, container);
      for (size_t i = first; i < last; ++i) {
        if (!PutsInto(lines[i], container)) continue;
        if (BaseName(path) == made_in && i + 1 == made_at) return "";
        found.emplace_back(BaseName(path), i + 1);
        if (BaseName(path) == made_in && i + 1 > made_at) behind.push_back(found.back());
      }
    }
    // If several lines store into the container, the first of them after the allocation of the
    // blocks is used, provided that it is in the same function.
    const bool is_near = !container.function.empty() && !behind.empty();
    if (found.size() != 1 && !is_near) return "";
    const auto& [file, line] = found.size() == 1 ? found.front() : behind.front();
    return std::string(file) + ":" + std::to_string(line);
  }

 private:
  // Returns the range of the lines of the function that has the variable. If it is no variable of a
  // function, the range is the whole file.
  std::pair<size_t, size_t> PartOf(const std::string& path, const Lines& lines,
                                   const Container& container) const {
    if (container.function.empty()) return {0, lines.size()};
    for (size_t i = 0; i < detail_.files.size(); ++i) {
      const bool is_it =
          detail_.files[i] == path && detail_.frames[i].ends_with(" " + container.function);
      if (is_it) return BodyOf(lines, container.function);
    }
    return {0, 0};
  }

  const Detail& detail_;
  std::map<std::string, Lines> files_;
};

}  // namespace

Container ContainerOf(const std::string& holder) {
  Container container;
  const size_t index = holder.find('[');
  if (index == std::string::npos) return container;
  std::string_view rest = std::string_view(holder).substr(index);
  while (rest.starts_with('[')) rest = AfterIndex(rest);
  // If the list holds an object that refers to the tensors, another line has stored the tensors in
  // the object.
  if (rest.starts_with('.') && !rest.starts_with(".grad_fn")) return container;
  std::string_view chain = std::string_view(holder).substr(0, index);
  if (const size_t colon = chain.find(": "); colon != std::string_view::npos) {
    container.function = chain.substr(0, colon);
    chain.remove_prefix(colon + 2);
  } else if (chain.starts_with("global ")) {
    chain.remove_prefix(7);
  }
  if (chain.find(' ') != std::string_view::npos) return {};
  size_t point = chain.rfind('.');
  if (point != std::string_view::npos && IsOfQueue(chain.substr(point + 1))) {
    chain = chain.substr(0, point);
    point = chain.rfind('.');
  }
  container.is_attribute = point != std::string_view::npos;
  container.name = container.is_attribute ? chain.substr(point + 1) : chain;
  if (container.is_attribute) container.function.clear();
  return container;
}

bool PutsInto(const std::string& line, const Container& container) {
  const std::string_view code = std::string_view(line).substr(0, line.find('#'));
  const std::string& name = container.name;
  for (size_t at = code.find(name); at != std::string_view::npos; at = code.find(name, at + 1)) {
    const char before = at == 0 ? ' ' : code[at - 1];
    const bool is_name =
        container.is_attribute ? before == '.' : before != '.' && !IsOfName(before);
    const std::string_view rest = code.substr(at + name.size());
    if (is_name && (rest.empty() || !IsOfName(rest.front())) && Fills(rest, name)) return true;
  }
  return false;
}

std::vector<AdviceFacts> WithRetentionLines(const Detail& detail, const std::string& trace,
                                            std::vector<AdviceFacts> advice) {
  const bool any = std::ranges::any_of(
      advice, [](const AdviceFacts& one) { return !ContainerOf(one.holder).name.empty(); });
  if (!any) return advice;
  const OwnFiles files(detail, trace);
  for (AdviceFacts& one : advice) one.kept_at = files.KeptAt(one);
  return advice;
}

}  // namespace vramstow
