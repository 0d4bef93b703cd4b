#include "simulator/driver/ptx.h"

#include <stdlib.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/rounding.h"
#include "simulator/ptx/declaration.h"

namespace vramstow::simulator {
namespace {

using ptx::ParseVariable;
using ptx::Tokens;
using ptx::Variable;

bool ParseParameters(Tokens* tokens, KernelImage* kernel) {
  uint64_t offset = 0;
  while (!tokens->Take(")")) {
    Variable parameter;
    if (!tokens->Take(".param") || !ParseVariable(tokens, &parameter)) return false;
    offset = RoundUp(offset, parameter.alignment);
    if (offset + parameter.bytes > UINT32_MAX) return false;
    kernel->parameters.push_back(
        {static_cast<uint32_t>(offset), static_cast<uint32_t>(parameter.bytes)});
    offset += parameter.bytes;
    tokens->Take(",");
  }
  return true;
}

// Parses the numbers after .maxntid, such as "128, 1, 1", and returns their product.
uint32_t ParseThreads(Tokens* tokens) {
  uint64_t product = 1;
  uint64_t size = 0;
  while (tokens->TakeNumber(&size)) {
    product *= std::min<uint64_t>(size, 1u << 16);
    if (!tokens->Take(",")) break;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(product, 1024));
}

// Bytes of the shared variables of the whole text, by name.
using SharedVariables = std::map<std::string_view, uint64_t>;

// Adds up the static shared and local memory that a body declares, and the size of the shared
// variables that are named in the body.
void ParseBody(Tokens* tokens, const SharedVariables& shared, KernelImage* kernel) {
  std::set<std::string_view> named;
  for (int depth = 1; depth > 0 && !tokens->ended();) {
    if (tokens->Take("{")) {
      ++depth;
    } else if (tokens->Take("}")) {
      --depth;
    } else if (tokens->Take(".shared")) {
      Variable variable;
      if (ParseVariable(tokens, &variable)) {
        kernel->shared_bytes += static_cast<uint32_t>(variable.bytes);
      }
    } else if (tokens->Take(".local")) {
      Variable variable;
      if (ParseVariable(tokens, &variable)) {
        kernel->local_bytes += static_cast<uint32_t>(variable.bytes);
      }
    } else {
      const auto found = shared.find(tokens->token());
      if (found != shared.end() && named.insert(found->first).second) {
        kernel->shared_bytes += static_cast<uint32_t>(found->second);
      }
      tokens->Next();
    }
  }
}

bool ParseEntry(Tokens* tokens, const SharedVariables& shared, Image* image) {
  if (tokens->ended()) return false;
  KernelImage& kernel = image->kernels[std::string(tokens->token())];
  kernel.parameters_known = true;
  tokens->Next();
  if (tokens->Take("(") && !ParseParameters(tokens, &kernel)) return false;
  while (!tokens->ended()) {
    if (tokens->Take(".maxntid") || tokens->Take(".reqntid")) {
      kernel.max_threads = ParseThreads(tokens);
    } else if (tokens->Take(";")) {
      return true;  // a declaration without a body
    } else if (tokens->Take("{")) {
      ParseBody(tokens, shared, &kernel);
      return true;
    } else {
      tokens->Next();
    }
  }
  return false;
}

// Parses ".version 8.0" as 80; the newest of several versions counts.
void ParseVersion(Tokens* tokens, Image* image) {
  const std::string text(tokens->token());
  char* end = nullptr;
  const unsigned long major = strtoul(text.c_str(), &end, 10);
  const unsigned long minor = *end == '.' ? strtoul(end + 1, nullptr, 10) : 0;
  if (major > 999 || minor > 9) return;
  image->ptx_version = std::max(image->ptx_version, static_cast<uint32_t>(major * 10 + minor));
  tokens->Next();
}

// Parses ".target sm_90a"; the highest of several targets counts.
void ParseTarget(Tokens* tokens, Image* image) {
  const std::string text(tokens->token());
  if (!text.starts_with("sm_")) return;
  char* end = nullptr;
  const unsigned long number = strtoul(text.c_str() + 3, &end, 10);
  if (number > 9999 || number < image->architecture.number) return;
  image->architecture = {static_cast<uint32_t>(number), *end};
  tokens->Next();
}

}  // namespace

ImageError ParsePtx(std::string_view text, Image* image) {
  Image parsed;
  Tokens tokens(text);
  SharedVariables shared;
  uint64_t const_bytes = 0;
  if (tokens.token() != ".version") return ImageError::kInvalidImage;
  while (!tokens.ended()) {
    if (tokens.Take(".version")) {
      ParseVersion(&tokens, &parsed);
    } else if (tokens.Take(".target")) {
      ParseTarget(&tokens, &parsed);
    } else if (tokens.Take(".entry")) {
      if (!ParseEntry(&tokens, shared, &parsed)) return ImageError::kInvalidPtx;
    } else if (tokens.token() == ".global" || tokens.token() == ".const") {
      const bool constant = tokens.token() == ".const";
      tokens.Next();
      Variable variable;
      if (ParseVariable(&tokens, &variable)) {
        parsed.variables[std::string(variable.name)] = variable.bytes;
        if (constant) const_bytes += variable.bytes;
      }
    } else if (tokens.Take(".shared")) {
      Variable variable;
      if (ParseVariable(&tokens, &variable)) shared[variable.name] = variable.bytes;
    } else if (tokens.Take("{")) {
      tokens.SkipBlock();  // the body of a function, or a variable's values
    } else {
      tokens.Next();
    }
  }
  for (auto& [name, kernel] : parsed.kernels) {
    kernel.const_bytes = static_cast<uint32_t>(std::min<uint64_t>(const_bytes, UINT32_MAX));
  }
  parsed.complete = true;
  *image = std::move(parsed);
  return ImageError::kNone;
}

}  // namespace vramstow::simulator
