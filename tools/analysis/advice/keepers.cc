#include "tools/analysis/advice/keepers.h"

namespace vramstow {
namespace {

bool Mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string WhatToDoAbout(std::string_view holder) {
  if (Mentions(holder, "kept by functools.lru_cache")) {
    return "The cache keeps a result for each set of arguments: bound it to a few "
           "(lru_cache(maxsize=4)), or let it keep results on the host.";
  }
  if (Mentions(holder, "kept by itertools.cycle")) {
    return "itertools.cycle keeps all that it has given out: walk through the loader anew each "
           "time (while True: yield from loader), or cycle over batches on the host.";
  }
  if (Mentions(holder, "hook of ")) {
    return "Remove the hook when its work is done (handle.remove()); register it once, not for "
           "each call.";
  }
  if (Mentions(holder, ".queue[…]")) {
    return "Bound the queue (queue.Queue(maxsize=4)), so that who fills it waits for who empties "
           "it.";
  }
  return "";
}

}  // namespace vramstow
