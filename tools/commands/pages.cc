#include "tools/commands/pages.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tools/base/likely_name.h"
#include "tools/base/words.h"
#include "tools/launch/installation.h"

namespace vramstow {
namespace {

constexpr char kFolder[] = "docs/";

std::string FolderOfPages() {
  const auto installation = FindInstallation();
  return installation.ok() ? installation->pages : "";
}

}  // namespace

bool IsPageName(const std::string& name) { return name.ends_with(".md"); }

std::vector<std::string> AllPages() {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entries(FolderOfPages(), error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename();
    if (IsPageName(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::string> ReadPage(const std::string& name) {
  const std::string file(absl::StripPrefix(name, kFolder));
  const std::vector<std::string> pages = AllPages();
  if (pages.empty()) {
    return absl::NotFoundError(
        absl::StrCat("the pages are not installed: ", Printable(FolderOfPages()), " has none."));
  }
  if (std::find(pages.begin(), pages.end(), file) == pages.end()) {
    const std::string likely = LikelyName(file, pages);
    return absl::NotFoundError(absl::StrCat(
        "there is no page '", Printable(name), "'",
        likely.empty()
            ? "; see vramstow help README.md, which lists them."
            : absl::StrCat(", did you mean ", likely, "? See vramstow help README.md.")));
  }
  std::ifstream page(FolderOfPages() + "/" + file);
  std::ostringstream text;
  text << page.rdbuf();
  if (!page) return absl::NotFoundError(absl::StrCat("the page ", file, " cannot be read."));
  return text.str();
}

}  // namespace vramstow
