#include "tools/analysis/facts/redactor.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <concepts>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/analysis/facts/fact_tables.h"
#include "tools/base/library_name.h"

namespace vramstow {
namespace {

constexpr std::string_view kGone = "***";

// True for characters that end a path inside a sentence.
bool EndsPath(char c) {
  return absl::ascii_isspace(static_cast<unsigned char>(c)) ||
         std::string_view("\"'`=,;|()[]{}<>").find(c) != std::string_view::npos;
}

bool IsNumber(std::string_view word) {
  return !word.empty() && word.find_first_of("0123456789") != std::string_view::npos &&
         word.find_first_not_of("0123456789.,+-eE") == std::string_view::npos;
}

bool IsScript(std::string_view word) {
  return word.ends_with(".py") || word.ends_with(".sh") || word.ends_with(".ipynb");
}

// True for names like "train.py" and "libcuda.so.1", which have a dot before a letter or digit. A
// name without such a dot may be a folder.
bool IsFileName(std::string_view name) {
  const size_t dot = name.find('.', name.empty() ? 0 : 1);
  return dot != std::string_view::npos && dot + 1 < name.size() &&
         absl::ascii_isalnum(static_cast<unsigned char>(name[dot + 1]));
}

// Returns the file name of a path inside a text, with a full stop or colon that ends the sentence.
std::string ShortPath(std::string_view path) {
  size_t end = path.size();
  while (end > 0 && (path[end - 1] == '.' || path[end - 1] == ':')) --end;
  const std::string name = LastPart(path.substr(0, end));
  return (IsFileName(name) ? name : std::string(kGone)) + std::string(path.substr(end));
}

// True for "--batch-size" or "-n".
bool IsOptionName(std::string_view word) {
  const bool is_word = std::ranges::all_of(word, [](char c) {
    return c == '-' || c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c));
  });
  return is_word && word.size() > 1 && (word.starts_with("--") || word.size() == 2);
}

// Returns the part of one argument that may be shown.
std::string ShortArgument(std::string_view word) {
  if (IsNumber(word)) return std::string(word);
  if (IsScript(word) && word.find('=') == std::string_view::npos) return LastPart(word);
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  if (!word.starts_with('-') || !IsOptionName(name)) return std::string(kGone);
  if (equals == std::string_view::npos) return std::string(word);
  const std::string_view value = word.substr(equals + 1);
  return std::string(name).append("=").append(IsNumber(value) ? value : kGone);
}

// False for "12/34", and for a slash alone.
bool IsPath(std::string_view word) {
  if (word.find('/') == std::string_view::npos || word == "/") return false;
  return word.find_first_not_of("0123456789/.") != std::string_view::npos;
}

// True for options whose values are vramstow's own keywords, numbers or durations.
bool IsHarmlessOption(std::string_view key) {
  struct Row {
    std::string_view field;
    std::string_view type;
  };
  static constexpr Row kRows[] = {
#define VRAMSTOW_OPTION(field, type, default_value, flag, metavar, environment, help) \
  {#field, #type},
#include "base/options.def"
#undef VRAMSTOW_OPTION
  };
  for (const Row& row : kRows) {
    if (key == row.field) return row.type != "Text" && row.type != "Path";
  }
  return false;
}

bool IsHarmlessOfDevice(std::string_view key) {
  return key.ends_with(".name") || key.ends_with("_bytes") || key.ends_with("_capability");
}

// True for facts that reveal nothing about a person or a machine.
bool IsHarmless(std::string_view key) {
  constexpr std::string_view kHarmless[] = {
      "vramstow.version",    "process.pid",        "process.parent", "process.start_time",
      "process.rank",        "process.local_rank", "driver.version", "simulated",
      "process.exit_status", "run.requeue",        "run.restart"};
  if (std::ranges::find(kHarmless, key) != std::end(kHarmless)) return true;
  if (key.starts_with("option.")) return IsHarmlessOption(key.substr(7));
  return key.starts_with("device.") && IsHarmlessOfDevice(key);
}

void SortByLength(std::vector<std::string>* texts) {
  std::ranges::sort(*texts, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
}

// --- These functions redact all texts of a struct of facts, by its table.

template <HasFacts Struct>
void RedactStruct(const Redactor& redactor, Struct* self);

template <typename Value>
void RedactValue(const Redactor& redactor, Value* value) {
  if constexpr (std::same_as<Value, std::string>) {
    *value = redactor.Text(*value);
  } else if constexpr (HasFacts<Value>) {
    RedactStruct(redactor, value);
  } else if constexpr (std::same_as<Value, std::map<std::string, std::string>>) {
    *value = redactor.TraceFacts(*value);
  } else if constexpr (requires { value->has_value(); }) {
    if (value->has_value()) RedactValue(redactor, &**value);
  } else if constexpr (requires { value->begin(); }) {
    for (auto& item : *value) RedactValue(redactor, &item);
  } else if constexpr (std::same_as<Value, Change> || std::same_as<Value, AdviceProof>) {
    // Numbers, and the name of a model, need no redaction.
  } else {
    static_assert(std::is_arithmetic_v<Value> || std::is_enum_v<Value>,
                  "say how texts of this type are redacted");
  }
}

template <typename Struct, typename Entry>
void RedactEntry(const Redactor& redactor, const Entry& entry, Struct* self) {
  if constexpr (requires { entry.entries; }) {
    std::apply([&](const auto&... inner) { (RedactEntry(redactor, inner, self), ...); },
               entry.entries);
  } else if constexpr (requires { entry.member; }) {
    RedactValue(redactor, &(self->*entry.member));
  }
}

template <HasFacts Struct>
void RedactStruct(const Redactor& redactor, Struct* self) {
  ForEachEntry<Struct>([&](const auto& entry) { RedactEntry(redactor, entry, self); });
}

}  // namespace

Redactor Redactor::OfThisMachine() {
  Redactor redactor;
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) redactor.LearnName(host);
  for (const char* variable : {"USER", "LOGNAME", "HOSTNAME"}) {
    if (const char* value = std::getenv(variable)) redactor.LearnName(value);
  }
  if (const passwd* user = getpwuid(getuid())) {
    redactor.LearnName(user->pw_name);
    redactor.LearnFolder(user->pw_dir);
  }
  if (const char* home = std::getenv("HOME")) {
    redactor.LearnFolder(home);
    redactor.LearnName(LastPart(home));
  }
  std::error_code error;
  redactor.LearnFolder(std::filesystem::current_path(error).string());
  return redactor;
}

void Redactor::LearnName(std::string_view name) {
  // A name of a single letter is not redacted, because the letter occurs in every sentence.
  if (name.size() < 2 || name == kGone) return;
  names_.push_back(absl::AsciiStrToLower(std::string(name)));
  // For "node7.cluster.example", "node7" is redacted, too.
  const std::string_view first = name.substr(0, name.find('.'));
  if (first.size() >= 2 && !IsNumber(first))
    names_.push_back(absl::AsciiStrToLower(std::string(first)));
  SortByLength(&names_);
}

void Redactor::LearnFolder(std::string_view folder) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  if (folder.empty() || folder == ".") return;
  const std::vector<std::string> parts = absl::StrSplit(std::string(folder), '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i] == "home" || parts[i] == "Users") LearnName(parts[i + 1]);
  }
  // The folder and all its parents are redacted. A relative path of a single name ("traces") is
  // not, because it may be an ordinary word.
  for (; folder.find('/') != std::string_view::npos && !folder.empty();
       folder = folder.substr(0, folder.rfind('/'))) {
    folders_.emplace_back(folder);
  }
  SortByLength(&folders_);
}

void Redactor::LearnFile(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash != std::string_view::npos) LearnFolder(path.substr(0, slash));
}

void Redactor::Learn(const std::map<std::string, std::string>& facts) {
  for (const auto& [key, value] : facts) {
    if (key == "process.host") LearnName(value);
    if (key == "process.program" || key == "driver.path") LearnFile(value);
    if (key == "option.trace_dir" || key == "option.adapter_dir" || key == "option.control_dir") {
      LearnFolder(value);
    }
    // A command may contain a home folder anywhere.
    const std::vector<std::string> words = absl::StrSplit(value, absl::ByAnyChar(" =:,\"'"));
    for (const std::string& word : words) {
      if (absl::StrContains(word, "/home/") || absl::StrContains(word, "/Users/")) {
        LearnFolder(word);
      }
    }
  }
}

void Redactor::Learn(const Facts& facts) {
  Learn(facts.trace_metadata);
  LearnFile(facts.file);
  for (const TallyFacts& library : facts.by_library) LearnFile(library.path);
}

void Redactor::Learn(const FactSet& set) {
  if (set.comparison.has_value()) LearnName(set.comparison->host);
  Learn(set.total);
  for (const Facts& trace : set.traces) Learn(trace);
}

std::string Redactor::WithoutFolders(std::string text) const {
  for (const std::string& folder : folders_) {
    for (size_t place = 0; (place = text.find(folder, place)) != std::string::npos;) {
      const size_t end = place + folder.size();
      const char next = end < text.size() ? text[end] : ' ';
      if (next == '/') {
        text.erase(place, folder.size());  // the slash stays: what follows is still a path
      } else if (absl::ascii_isalnum(static_cast<unsigned char>(next)) ||
                 std::string_view("_-.").find(next) != std::string_view::npos) {
        ++place;  // a part of another folder's name
      } else {
        text.replace(place, folder.size(), kGone);
      }
    }
  }
  return text;
}

std::string Redactor::WithoutNames(std::string text) const {
  std::string lower = absl::AsciiStrToLower(text);
  const auto is_part_of_word = [&lower](size_t place) {
    return place < lower.size() && absl::ascii_isalnum(static_cast<unsigned char>(lower[place]));
  };
  for (const std::string& name : names_) {
    for (size_t place = 0; (place = lower.find(name, place)) != std::string::npos;) {
      const bool begins = place == 0 || !is_part_of_word(place - 1);
      if (!begins || is_part_of_word(place + name.size())) {
        ++place;
        continue;
      }
      text.replace(place, name.size(), kGone);
      lower.replace(place, name.size(), kGone);
      place += kGone.size();
    }
  }
  return text;
}

std::string Redactor::Path(std::string_view path) const { return WithoutNames(LastPart(path)); }

std::string Redactor::Text(std::string_view given) const {
  const std::string text = WithoutFolders(std::string(given));
  std::string result;
  for (size_t place = 0; place < text.size();) {
    size_t end = place;
    while (end < text.size() && !EndsPath(text[end])) ++end;
    const std::string_view word = std::string_view(text).substr(place, end - place);
    result += IsPath(word) ? ShortPath(word) : std::string(word);
    if (end < text.size()) result += text[end++];
    place = end;
  }
  return WithoutNames(std::move(result));
}

std::string Redactor::Command(std::string_view command) const {
  std::string result;
  bool is_gone = false;
  const std::vector<std::string> words =
      absl::StrSplit(std::string(command), ' ', absl::SkipEmpty());
  for (const std::string& word : words) {
    const std::string shown = result.empty() ? LastPart(word) : ShortArgument(word);
    // Consecutive redacted words become one mark.
    if (shown == kGone && is_gone) continue;
    is_gone = shown == kGone;
    absl::StrAppend(&result, result.empty() ? "" : " ", shown);
  }
  return WithoutNames(std::move(result));
}

std::map<std::string, std::string> Redactor::TraceFacts(
    const std::map<std::string, std::string>& facts) const {
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : facts) {
    std::string& shown = result[Text(key)];
    if (key == "process.command") {
      shown = Command(value);
    } else if (key == "process.program" || key == "driver.path") {
      shown = Path(value);
    } else {
      shown = IsHarmless(key) ? Text(value) : std::string(kGone);
    }
  }
  return result;
}

void Redactor::Redact(Facts* facts) const {
  facts->file = LastPart(facts->file);
  for (TallyFacts& library : facts->by_library) library.path = LastPart(library.path);
  RedactStruct(*this, facts);
}

void Redactor::Redact(FactSet* set) const {
  Redact(&set->total);
  for (Facts& trace : set->traces) Redact(&trace);
  if (set->comparison.has_value()) {
    RedactStruct(*this, &*set->comparison);
    set->comparison->host = kGone;
  }
  for (std::string& sentence : set->left_out) sentence = Text(sentence);
}

void Redactor::Redact(Detail* detail) const {
  for (std::string& frame : detail->frames) frame = Text(frame);
  for (std::string& file : detail->files) file = Path(file);
  for (std::string& line : detail->lines) line = Text(line);
  for (std::string& library : detail->libraries) library = Text(library);
  for (SiteDetail& site : detail->sites) {
    site.site = Text(site.site);
    site.operation = Text(site.operation);
    site.module = Text(site.module);
  }
  for (MarkDetail& mark : detail->marks) mark.text = Text(mark.text);
  for (CensusDetail& census : detail->censuses) {
    for (HeldBlock& block : census.blocks) {
      block.holder = Text(block.holder);
      block.about = Text(block.about);
    }
  }
}

}  // namespace vramstow
