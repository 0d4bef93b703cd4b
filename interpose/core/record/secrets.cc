#include "interpose/core/record/secrets.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace vramstow {
namespace {

constexpr std::string_view kHidden = "***";
// A name counts as secret if it contains one of these words, for example "HF_TOKEN", "--api-key"
// and "dbPassword".
constexpr std::string_view kSecretWords[] = {"token",       "key",        "apikey", "password",
                                             "passwd",      "passphrase", "secret", "credential",
                                             "credentials", "pat",        "bearer", "auth"};
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

// True if a name contains a secret word. A word of the name ends where the letters end, and where a
// capital letter follows a small letter.
bool IsSecretName(std::string_view name) {
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
    for (const std::string_view word : kSecretWords) {
      if (EqualsInAnyCase(Part(name, start, end - start), word)) return true;
    }
    start = end;
  }
  return false;
}

// A number is no secret: in "--max-token 512" it is a size.
bool IsNumber(std::string_view value) {
  return !value.empty() && value.size() < 10 && std::all_of(value.begin(), value.end(), IsDigit);
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

// Appends a text and hides tokens and passwords in it.
void AddText(std::string_view text, Shown* shown) {
  size_t i = 0;
  std::string_view password;
  while (i < text.size()) {
    if (Part(text, i, 3) == "://") password = PasswordAt(text, i + 3);
    if (!password.empty() && text.data() + i == password.data()) {
      shown->Add(kHidden);
      i += password.size();
      password = {};
    } else if (const size_t token = TokenAt(text, i); token > 0) {
      shown->Add(kHidden);
      i += token;
    } else {
      shown->Add(text[i] == '\n' ? ' ' : text[i]);
      ++i;
    }
  }
}

// Appends one argument. Returns true if the argument is a secret name whose value is the next
// argument.
bool AddArgument(std::string_view argument, Shown* shown) {
  const size_t equals = argument.find('=');
  const std::string_view name = Part(argument, 0, equals);
  const bool is_secret = IsSecretName(name) && name.find_first_of(" /") == name.npos;
  if (equals == argument.npos) {
    AddText(argument, shown);
    return is_secret && Part(argument, 0, 1) == "-";
  }
  const std::string_view value = Part(argument, equals + 1);
  AddText(Part(argument, 0, equals + 1), shown);
  if (is_secret && !value.empty() && !IsNumber(value)) {
    shown->Add(kHidden);
  } else {
    AddText(value, shown);
  }
  return false;
}

}  // namespace

size_t ShowWithoutSecrets(const char* arguments, size_t size, char* shown, size_t shown_size) {
  std::string_view rest(arguments, size);
  while (!rest.empty() && rest.back() == '\0') rest.remove_suffix(1);
  Shown out(shown, shown_size);
  bool is_value_of_secret = false;
  for (bool first = true; first || !rest.empty(); first = false) {
    const size_t end = rest.find('\0');
    const std::string_view argument = Part(rest, 0, end);
    rest = end == rest.npos ? std::string_view() : Part(rest, end + 1);
    if (!first) out.Add(' ');
    const bool hides = is_value_of_secret && Part(argument, 0, 1) != "-" && !IsNumber(argument);
    is_value_of_secret = false;
    if (hides) {
      out.Add(kHidden);
    } else {
      is_value_of_secret = AddArgument(argument, &out);
    }
  }
  return out.length();
}

}  // namespace vramstow
