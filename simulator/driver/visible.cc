#include "simulator/driver/visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <algorithm>

#include "simulator/driver/attributes.h"

namespace vramstow::simulator {
namespace {

std::string UuidText(const Spec& spec, int card) {
  const CUuuid uuid = CardUuid(spec, card);
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    char byte[8];
    snprintf(byte, sizeof(byte), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

// Returns the GPU that an entry names, or a negative number if there is none.
int ReadEntry(const Spec& spec, const std::string& entry) {
  if (strncasecmp(entry.c_str(), "GPU-", 4) == 0) {
    for (int card = 0; card < spec.count; ++card) {
      const std::string uuid = UuidText(spec, card);
      if (strncasecmp(uuid.c_str(), entry.c_str(), entry.size()) == 0) return card;
    }
    return -1;
  }
  char* end = nullptr;
  const long number = strtol(entry.c_str(), &end, 10);
  while (*end == ' ') ++end;
  const bool right = end != entry.c_str() && *end == '\0' && number >= 0 && number < spec.count;
  return right ? static_cast<int>(number) : -1;
}

}  // namespace

void ChooseVisible(const char* list, Spec* spec) {
  if (list == nullptr) return;
  spec->cards.clear();
  const std::string text = list;
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    const int card = ReadEntry(*spec, text.substr(start, comma - start));
    if (card < 0) return;
    if (std::find(spec->cards.begin(), spec->cards.end(), card) != spec->cards.end()) {
      spec->cards.clear();
      return;
    }
    spec->cards.push_back(card);
    start = comma + 1;
  }
}

}  // namespace vramstow::simulator
