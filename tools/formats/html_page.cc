#include "tools/formats/html_page.h"

#include "absl/strings/escaping.h"
#include "tools/formats/text_helpers.h"

namespace vramstow {

absl::StatusOr<std::string> SnapshotInPage(std::string_view page, std::string* damage) {
  constexpr std::string_view kKey = "\"base64\"";
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t key = page.find(kKey);
  const size_t colon = key == page.npos ? key : page.find_first_not_of(kBlanks, key + kKey.size());
  const size_t quote = colon == page.npos ? colon : page.find_first_not_of(kBlanks, colon + 1);
  if (quote == page.npos || page[colon] != ':' || page[quote] != '"') {
    return absl::NotFoundError("the page contains no memory snapshot");
  }
  std::string_view text = page.substr(quote + 1);
  const size_t end = text.find('"');
  if (end == text.npos) {
    *damage = "the page ends in the middle of the snapshot";
    text = text.substr(0, text.size() / 4 * 4);
  }
  std::string bytes;
  const std::string_view encoded = text.substr(0, end);
  if (!absl::Base64Unescape(absl::string_view(encoded.data(), encoded.size()), &bytes)) {
    return absl::DataLossError("the snapshot in the page is damaged: it is not valid base64");
  }
  return bytes;
}

}  // namespace vramstow
