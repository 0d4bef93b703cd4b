#include "tools/report/html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tools/report/json.h"
#include "tools/report/page_assets.h"
#include "tools/report/page_data.h"

namespace vramstow {
namespace {

// Escapes "<", so that nothing in a script element looks like its end tag.
std::string ForScript(const std::string& json) {
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}});
}

}  // namespace

std::string HtmlReport(const FactSet& set, const std::vector<PageSource>& sources) {
  std::string texts;
  for (size_t i = 0; i < sources.size(); ++i) {
    absl::StrAppend(&texts, i == 0 ? "" : ",", PageData(set.traces[i], sources[i], sources.size()));
  }
  // Finds all placeholders before it fills in any of them, because a text of the trace may look
  // like a placeholder.
  const std::string page = kPageTemplate;
  const std::pair<const char*, std::string> places[] = {
      {"@STYLE@", kPageStyle},
      {"@FACTS@", ForScript(JsonReport(set))},
      {"@DETAILS@", absl::StrCat("[", ForScript(texts), "]")},
      {"@SCRIPT@", absl::StrCat("'use strict';\n", kPageScript)}};
  std::string result;
  size_t from = 0;
  for (const auto& [name, text] : places) {
    const size_t place = page.find(name, from);
    absl::StrAppend(&result, page.substr(from, place - from), text);
    from = place + std::string_view(name).size();
  }
  return result + page.substr(from);
}

}  // namespace vramstow
