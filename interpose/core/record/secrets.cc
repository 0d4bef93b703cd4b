#include "interpose/core/record/secrets.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

namespace vramstow {
namespace {

constexpr std::string_view kHidden = "***";
// A name counts as secret if it contains one of these words, for example "HF_TOKEN", "--api-key"
// and "dbPassword".
constexpr std::string_view kSecretWords[] = {
    "apikey", "password",   "passwd",      "passphrase", "pwd",    "secret",       "secrets",
    "pat",    "credential", "credentials", "auth",       "bearer", "authorization"};
// A name with one of these words counts as secret, too. But a short number after it is a count or a
// size, as in "--max-token 512".
constexpr std::string_view kCountedWords[] = {"token", "key"};
// With one of these words, a name of a token or key is not that of a count ("--api-key 12345678").
constexpr std::string_view kNeverCounted[] = {"api", "access", "private"};
// The words between "Authorization:" and the secret.
constexpr std::string_view kSchemes[] = {"bearer", "basic", "token", "digest"};
// The beginnings of tokens of well-known services.
constexpr std::string_view kTokenStarts[] = {
    "hf_", "sk-", "sk_", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "eyJ"};
constexpr size_t kShortestToken = 16;  // including its beginning

// Returns a part of the text, as substr does, but without exceptions, which vramstow must not bring
// into the process.
std::string_view Part(std::string_view text, size_t at, size_t count = std::string_view::npos) {
  if (at > text.size()) return {};
  return {text.data() + at, std::min(count, text.size() - at)};
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsTokenCharacter(char c) {
  return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.';
}
char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsInAnyCase(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && std::equal(text.begin(), text.end(), lower.begin(),
                                                   [](char a, char b) { return ToLower(a) == b; });
}

template <typename Words>
bool IsOneOf(const Words& words, std::string_view text) {
  return std::any_of(std::begin(words), std::end(words),
                     [text](std::string_view word) { return EqualsInAnyCase(text, word); });
}

// What a name says about its value: nothing; that it is a secret unless it is a short number; or
// that it is a secret.
enum class NameKind { kOrdinary, kSecretOrCount, kSecret };

// Judges a name by its words. A word of the name ends where the letters end, and where a capital
// letter follows a small letter.
NameKind KindOfName(std::string_view name) {
  bool is_counted = false;
  bool is_never_counted = false;
  size_t start = 0;
  while (start < name.size()) {
    if (!IsLetter(name[start])) {
      ++start;
      continue;
    }
    size_t end = start + 1;
    while (end < name.size() && IsLetter(name[end]) &&
           !(IsLower(name[end - 1]) && !IsLower(name[end]))) {
      ++end;
    }
    const std::string_view word = Part(name, start, end - start);
    if (IsOneOf(kSecretWords, word)) return NameKind::kSecret;
    is_counted |= IsOneOf(kCountedWords, word);
    is_never_counted |= IsOneOf(kNeverCounted, word);
    start = end;
  }
  if (!is_counted) return NameKind::kOrdinary;
  return is_never_counted ? NameKind::kSecret : NameKind::kSecretOrCount;
}

bool IsNumber(std::string_view value) {
  if (Part(value, 0, 1) == "-") value.remove_prefix(1);  // ids of tokens may be negative
  return !value.empty() && value.size() < 10 && std::all_of(value.begin(), value.end(), IsDigit);
}

// True if the value that follows a name of this kind is to be hidden.
bool IsHidden(NameKind kind, std::string_view value) {
  if (kind == NameKind::kOrdinary || value.empty()) return false;
  return kind == NameKind::kSecret || !IsNumber(value);
}

// True if an argument has the form of an option: "-n", "--name", "--name=value".
bool IsOption(std::string_view argument) {
  if (argument.size() == 2) return argument[0] == '-' && IsLetter(argument[1]);
  if (Part(argument, 0, 2) != "--" || argument.size() < 3 || !IsLower(argument[2])) return false;
  const std::string_view name = Part(argument, 2, argument.find('=') - 2);
  return std::all_of(name.begin(), name.end(), [](char c) {
    return IsLower(c) || IsDigit(c) || c == '-' || c == '_' || c == '.';
  });
}

class Shown {
 public:
  Shown(char* out, size_t size) : out_(out), room_(size) {}
  size_t length() const { return length_; }
  void Add(std::string_view text) {
    const size_t count = std::min(text.size(), room_ - length_);
    std::memcpy(out_ + length_, text.data(), count);
    length_ += count;
  }
  void Add(char c) { Add(std::string_view(&c, 1)); }

 private:
  char* out_;
  size_t room_;
  size_t length_ = 0;
};

// Returns the length of the token that begins at `at`, or 0 if none does.
size_t TokenAt(std::string_view text, size_t at) {
  if (at > 0 && (IsLetter(text[at - 1]) || IsDigit(text[at - 1]))) return 0;
  for (const std::string_view start : kTokenStarts) {
    if (Part(text, at, start.size()) != start) continue;
    size_t end = at + start.size();
    while (end < text.size() && IsTokenCharacter(text[end])) ++end;
    if (end - at >= kShortestToken) return end - at;
  }
  return 0;
}

// Returns the password of "//user:password@host", whose "//" ends before `at`, as a part of `text`;
// empty if there is none.
std::string_view PasswordAt(std::string_view text, size_t at) {
  const size_t end = text.find_first_of("/ ?#", at);
  const std::string_view authority = Part(text, at, end == text.npos ? end : end - at);
  const size_t host = authority.rfind('@');
  const size_t colon = authority.find(':');
  if (host == authority.npos || colon == authority.npos || colon > host) return {};
  return Part(authority, colon + 1, host - colon - 1);
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }

size_t AfterSpaces(std::string_view text, size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

// Returns where the value of a name begins that ends before `at`: after "=", ":", and after the
// spaces behind an option; also after "]=" and after the comma between two quoted texts, as in
// os.environ["NAME"]="value" and setdefault("NAME", "value"). Returns the length of the text if no
// value follows.
size_t ValueAfter(std::string_view text, std::string_view name, size_t at) {
  size_t place = at;
  bool is_quoted = false;
  // A backslash is before a quote within a text that is quoted itself.
  while (place < text.size() && (IsQuote(text[place]) || text[place] == '\\' ||
                                 text[place] == ']' || text[place] == '}')) {
    is_quoted |= IsQuote(text[place++]);
  }
  size_t sign = AfterSpaces(text, place);
  if (Part(text, sign, 2) == "==" && sign > at) {
    // This is a comparison in a program's text. Only a long quoted text is taken for a secret.
    constexpr size_t kShortest = 8;
    const size_t value = AfterSpaces(text, sign + 2);
    const bool is_long = value < text.size() && IsQuote(text[value]) &&
                         text.find(text[value], value + 1) - value > kShortest;
    return is_long ? value : text.size();
  }
  if (sign < text.size() && (text[sign] == '=' || text[sign] == ':')) {
    while (sign < text.size() && (text[sign] == '=' || text[sign] == ':')) ++sign;
    return AfterSpaces(text, sign);
  }
  if (is_quoted && sign < text.size() && text[sign] == ',') {
    const size_t value = AfterSpaces(text, sign + 1);
    return value < text.size() && IsQuote(text[value]) ? value : text.size();
  }
  const bool is_option = Part(name, 0, 1) == "-" && place == at;
  return is_option && !IsOption(Part(text, sign, text.find_first_of(" \t\n", sign) - sign))
             ? sign
             : text.size();
}

// Returns the value that begins at `at` as a part of the text, without its quotes.
std::string_view ValueAt(std::string_view text, size_t at) {
  while (at < text.size() && text[at] == '\\') ++at;
  if (at < text.size() && IsQuote(text[at])) {
    const size_t end = text.find(text[at], at + 1);
    const std::string_view value = Part(text, at + 1, end == text.npos ? end : end - at - 1);
    return !value.empty() && value.back() == '\\' ? Part(value, 0, value.size() - 1) : value;
  }
  const size_t end = text.find_first_of(" \t\n,;&|()[]{}\"'`\\", at);
  return Part(text, at, end == text.npos ? end : end - at);
}

// Returns the secret of a name that begins at `at`, as a part of the text; empty if there is none.
std::string_view SecretOfNameAt(std::string_view text, size_t at) {
  const auto is_part_of_name = [](char c) { return IsTokenCharacter(c); };
  if (at > 0 && is_part_of_name(text[at - 1])) return {};
  size_t end = at;
  while (end < text.size() && is_part_of_name(text[end])) ++end;
  if (end == at) return {};
  const std::string_view name = Part(text, at, end - at);
  const NameKind kind = KindOfName(name);
  if (kind == NameKind::kOrdinary) return {};
  size_t value_at = ValueAfter(text, name, end);
  if (EqualsInAnyCase(name, "bearer")) {
    constexpr size_t kShortest = 8;  // a shorter word after "bearer" is one of a sentence
    const std::string_view word = ValueAt(text, AfterSpaces(text, end));
    if (value_at == text.size() && word.size() >= kShortest) return word;
  }
  std::string_view value = ValueAt(text, value_at);
  if (IsOneOf(kSchemes, value)) {  // "Authorization: Bearer VALUE"
    value_at = AfterSpaces(text, value_at + value.size());
    value = Part(text, value_at, text.find_first_of("\"'`\n", value_at) - value_at);
  }
  return IsHidden(kind, value) ? value : std::string_view();
}

// Appends a text and hides tokens, passwords and values of secret names in it.
void AddText(std::string_view text, Shown* shown) {
  size_t i = 0;
  std::string_view password;
  std::string_view secret;
  while (i < text.size()) {
    if (Part(text, i, 3) == "://") password = PasswordAt(text, i + 3);
    if (secret.empty()) secret = SecretOfNameAt(text, i);
    // The name itself is shown, even if it begins like a token.
    const bool is_before_secret = !secret.empty() && text.data() + i < secret.data();
    if (!secret.empty() && !is_before_secret) {
      shown->Add(kHidden);
      i += secret.size();
      secret = {};
    } else if (!password.empty() && text.data() + i == password.data()) {
      shown->Add(kHidden);
      i += password.size();
      password = {};
    } else if (const size_t token = is_before_secret ? 0 : TokenAt(text, i); token > 0) {
      shown->Add(kHidden);
      i += token;
    } else {
      shown->Add(text[i] == '\n' ? ' ' : text[i]);
      ++i;
    }
  }
}

// Returns the kind of the name of an argument NAME=VALUE or NAME. Of a name in parts, as Hydra's
// "+wandb/api_key", the last part decides, because the others may be a path.
NameKind KindOfArgument(std::string_view name) {
  if (name.find_first_of(" \t\n\"'()[]{}:;,") != name.npos) return NameKind::kOrdinary;
  return KindOfName(Part(name, name.rfind('/') + 1));
}

// Appends one argument. Returns the kind of its name if its value is the next argument.
NameKind AddArgument(std::string_view argument, Shown* shown) {
  const size_t equals = argument.find('=');
  const NameKind kind = KindOfArgument(Part(argument, 0, equals));
  if (equals == argument.npos) {
    AddText(argument, shown);
    return Part(argument, 0, 1) == "-" ? kind : NameKind::kOrdinary;
  }
  if (IsHidden(kind, Part(argument, equals + 1))) {
    shown->Add(Part(argument, 0, equals + 1));
    shown->Add(kHidden);
  } else if (kind != NameKind::kOrdinary) {
    shown->Add(argument);
  } else {
    AddText(argument, shown);
  }
  return NameKind::kOrdinary;
}

}  // namespace

size_t ShowWithoutSecrets(const char* arguments, size_t size, char* shown, size_t shown_size) {
  std::string_view rest(arguments, size);
  while (!rest.empty() && rest.back() == '\0') rest.remove_suffix(1);
  Shown out(shown, shown_size);
  NameKind before = NameKind::kOrdinary;  // the name whose value is the next argument
  for (bool first = true; first || !rest.empty(); first = false) {
    const size_t end = rest.find('\0');
    const std::string_view argument = Part(rest, 0, end);
    rest = end == rest.npos ? std::string_view() : Part(rest, end + 1);
    if (!first) out.Add(' ');
    const bool hides = IsHidden(before, argument) && !IsOption(argument);
    if (hides) {
      out.Add(kHidden);
      // A hidden argument with a dash may have been an option after all.
      before = Part(argument, 0, 1) == "-" ? KindOfArgument(argument) : NameKind::kOrdinary;
    } else {
      before = AddArgument(argument, &out);
    }
  }
  return out.length();
}

}  // namespace vramstow
