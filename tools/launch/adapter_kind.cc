#include "tools/launch/adapter_kind.h"

#include <cstdlib>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace vramstow {
namespace {

struct KindFacts {
  const char* folder;
  const char* prefix;
  int first_minor;  // the first supported release is PyTorch 2.first_minor
  int last_minor;
  const char* variable;
  const char* otherwise;  // the text for an unsupported release; the releases follow
};

// The properties of each kind, indexed by AdapterKind.
constexpr KindFacts kKinds[] = {
#define VRAMSTOW_ADAPTER_KIND(kind, folder, prefix, first, last, variable, entry, otherwise) \
  {folder, prefix, first, last, variable, otherwise},
#include "base/adapter_kinds.def"
#undef VRAMSTOW_ADAPTER_KIND
};
constexpr int kMajor = 2;

const KindFacts& FactsOf(AdapterKind kind) { return kKinds[static_cast<size_t>(kind)]; }

}  // namespace

const char* SourceFolderOf(AdapterKind kind) { return FactsOf(kind).folder; }

const char* NamePrefixOf(AdapterKind kind) { return FactsOf(kind).prefix; }

const char* VariableOf(AdapterKind kind) { return FactsOf(kind).variable; }

bool WantsNewerTried(const char* value) {
  return value != nullptr &&
         (absl::string_view(value) == "1" || absl::EqualsIgnoreCase(value, "on") ||
          absl::EqualsIgnoreCase(value, "yes") || absl::EqualsIgnoreCase(value, "true"));
}

absl::Status CheckRelease(const std::string& release, const AdapterRequest& request) {
  const KindFacts& facts = FactsOf(request.kind);
  const std::vector<std::string> numbers = absl::StrSplit(release, '.');
  const int major = std::atoi(numbers[0].c_str());
  const int minor = numbers.size() < 2 ? 0 : std::atoi(numbers[1].c_str());
  const bool is_newer = major > kMajor || (major == kMajor && minor > facts.last_minor);
  if (is_newer && request.try_newer) return absl::OkStatus();
  if (!is_newer && major == kMajor && minor >= facts.first_minor) return absl::OkStatus();
  const char* advice = is_newer ? "; --adapter-try tries it." : ".";
  return absl::FailedPreconditionError(absl::StrCat("PyTorch ", release, " ", facts.otherwise,
                                                    kMajor, ".", facts.first_minor, " to ", kMajor,
                                                    ".", facts.last_minor, ")", advice));
}

}  // namespace vramstow
