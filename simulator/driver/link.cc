// Implements linking: each image is read when it is added, and all images are joined into one.
//
// The result is PTX. It contains the texts of the inputs that are PTX, one after the other, each a
// unit with its own names (simulator/kernels/ptx). For the other inputs it contains their
// variables, and an empty entry for each kernel with its parameters and limits. So a module that is
// made from the result has the kernels and variables of all inputs. Code for link-time
// optimisation, libraries and objects are not read, because they add nothing that can be launched.
#include <stdio.h>
#include <string.h>

#include <set>

#include "base/rounding.h"
#include "simulator/driver/call.h"
#include "simulator/driver/image.h"
#include "simulator/driver/image_bytes.h"
#include "simulator/driver/module.h"
#include "simulator/driver/ptx.h"

using namespace vramstow::simulator;  // NOLINT(google-build-using-namespace): the C ABI is global

struct CUlinkState_st {
  std::string units;  // texts of the PTX inputs
  Image image;        // kernels and variables of the other inputs
  std::set<std::string> kernels;
  bool opaque = false;  // an input could not be read
  std::string result;
  char* error_log = nullptr;  // the caller's buffer
  size_t error_log_bytes = 0;
};

namespace {

using Link = CUlinkState_st;

// All links in progress. Guarded by the driver's lock; never destroyed.
Handles<Link>& Links() {
  static auto* links = new Handles<Link>;
  return *links;
}

void AddToLog(const Link& link, const std::string& text) {
  if (link.error_log == nullptr || link.error_log_bytes == 0) return;
  snprintf(link.error_log, link.error_log_bytes, "%s", text.c_str());
}

CUresult Join(const ImageTarget& target, Link* link, const void* data, size_t size,
              const char* name) {
  Image input;
  const std::string what = name == nullptr ? "an input" : name;
  switch (ParseImage(data, size, target, &input)) {
    case ImageError::kNone:
      break;
    case ImageError::kInvalidImage:
      AddToLog(*link, what + " is neither PTX nor an image");
      return CUDA_ERROR_INVALID_IMAGE;
    case ImageError::kInvalidPtx:
      AddToLog(*link, what + " is not valid PTX, or for a newer card");
      return CUDA_ERROR_INVALID_PTX;
    case ImageError::kNoBinary:
      AddToLog(*link, what + " has no code for this card");
      return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case ImageError::kUnsupportedPtx:
      AddToLog(*link, what + " is PTX of a version that is newer than the driver");
      return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  for (const auto& [kernel, description] : input.kernels) {
    if (!link->kernels.insert(kernel).second) {
      AddToLog(*link, what + " defines " + kernel + ", as an input before it does");
      return CUDA_ERROR_INVALID_IMAGE;
    }
  }
  if (!input.ptx.empty()) {
    link->units += input.ptx + "\n";
    Image unit;
    ParsePtx(input.ptx, &unit);
    for (const auto& [kernel, description] : unit.kernels) input.kernels.erase(kernel);
    for (const auto& [variable, bytes] : unit.variables) input.variables.erase(variable);
  }
  link->image.kernels.merge(input.kernels);
  link->image.variables.merge(input.variables);
  link->opaque = link->opaque || !input.complete;
  return CUDA_SUCCESS;
}

CUresult AddInput(const ImageTarget& target, Link* link, CUjitInputType type, const void* data,
                  size_t size, const char* name) {
  if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
  switch (type) {
    case CU_JIT_INPUT_PTX: {
      // The text ends at the size that the caller gave, with or without a zero.
      std::vector<char> text;
      if (!ImageBytes(data, size).Read(0, size, &text)) return CUDA_ERROR_INVALID_VALUE;
      text.push_back('\0');
      return Join(target, link, text.data(), text.size(), name);
    }
    case CU_JIT_INPUT_CUBIN:
    case CU_JIT_INPUT_FATBINARY:
      return Join(target, link, data, size, name);
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY:
    case CU_JIT_INPUT_NVVM:
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void Write(const std::string& name, const KernelImage& kernel, std::string* text) {
  *text += ".visible .entry " + name + "(";
  uint32_t at = 0;
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    // The alignment is chosen so that each parameter keeps its offset.
    const KernelParameter& parameter = kernel.parameters[i];
    const uint32_t offset = parameter.offset;
    uint32_t alignment = 16;
    while (alignment > 1 &&
           (offset % alignment != 0 || vramstow::RoundUp(at, alignment) != offset)) {
      alignment /= 2;
    }
    *text += i == 0 ? "\n" : ",\n";
    *text += ".param .align " + std::to_string(alignment) + " .b8 " + name + "_param_" +
             std::to_string(i) + "[" + std::to_string(parameter.bytes) + "]";
    at = offset + parameter.bytes;
  }
  *text += ")\n";
  if (kernel.max_threads > 0) *text += ".maxntid " + std::to_string(kernel.max_threads) + "\n";
  *text += "{\n";
  if (kernel.shared_bytes > 0) {
    *text += ".shared .b8 " + name + "_shared[" + std::to_string(kernel.shared_bytes) + "];\n";
  }
  *text += "ret;\n}\n";
}

std::string WriteImage(const Card& card, const Image& image) {
  // Version 7.0 is old enough for every driver, and nothing newer is written here.
  std::string text = ".version 7.0\n.target sm_" + std::to_string(card.major * 10 + card.minor) +
                     "\n.address_size 64\n";
  for (const auto& [name, bytes] : image.variables) {
    text += ".visible .global .b8 " + name + "[" + std::to_string(bytes) + "];\n";
  }
  for (const auto& [name, kernel] : image.kernels) Write(name, kernel, &text);
  return text;
}

void ReadOptions(unsigned count, const CUjit_option* options, void** values, Link* link) {
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) link->error_log = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      link->error_log_bytes = static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));
    }
  }
}

}  // namespace

#undef cuLinkCreate
#undef cuLinkAddData
#undef cuLinkAddFile

extern "C" {

CUresult cuLinkCreate_v2(unsigned int count, CUjit_option* options, void** values,
                         CUlinkState* out) {
  return Serve("cuLinkCreate", Needs::kContext, [&](Call&) {
    if (out == nullptr || (count > 0 && (options == nullptr || values == nullptr))) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto link = std::make_unique<Link>();
    ReadOptions(count, options, values, link.get());
    *out = Links().Add(std::move(link));
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkCreate(unsigned int count, CUjit_option* options, void** values, CUlinkState* out) {
  return cuLinkCreate_v2(count, options, values, out);
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size,
                          const char* name, unsigned int count, CUjit_option* options,
                          void** values) {
  (void)count, (void)options, (void)values;
  return Serve("cuLinkAddData", Needs::kContext, [&](Call& call) {
    return AddInput(TargetOf(call.machine()), Links().Find(state), type, data, size, name);
  });
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void* data, size_t size,
                       const char* name, unsigned int count, CUjit_option* options, void** values) {
  return cuLinkAddData_v2(state, type, data, size, name, count, options, values);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path,
                          unsigned int count, CUjit_option* options, void** values) {
  (void)count, (void)options, (void)values;
  return Serve("cuLinkAddFile", Needs::kContext, [&](Call& call) -> CUresult {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<char> bytes;
    if (!ReadImageFile(path, &bytes)) return CUDA_ERROR_FILE_NOT_FOUND;
    return AddInput(TargetOf(call.machine()), Links().Find(state), type, bytes.data(), bytes.size(),
                    path);
  });
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char* path, unsigned int count,
                       CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(state, type, path, count, options, values);
}

CUresult cuLinkComplete(CUlinkState state, void** image, size_t* size) {
  return Serve("cuLinkComplete", Needs::kContext, [&](Call& call) {
    Link* link = Links().Find(state);
    if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (link->opaque) {
      AddToLog(*link, "an input is compressed: the simulated card cannot look into it");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    link->result = link->units + WriteImage(call.machine().card(), link->image);
    *image = link->result.data();
    if (size != nullptr) *size = link->result.size() + 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkDestroy(CUlinkState state) {
  return Serve("cuLinkDestroy", Needs::kInit, [&](Call&) {
    Link* link = Links().Find(state);
    if (link == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Links().Remove(link);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
