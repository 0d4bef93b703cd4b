#include "tools/analysis/accounts/call_stack.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/python_file.h"
#include "tools/analysis/facts/operator_name.h"
#include "tools/base/library_name.h"

namespace vramstow {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The files of frames that PyTorch reported, as opposed to frames of the native or Python stack.
constexpr std::string_view kOperator = "<operator>";
constexpr std::string_view kBackward = "<backward>";
constexpr std::string_view kModule = "<module>";

bool IsPython(const CallFrame& frame) {
  return frame.file.ends_with(".py") || (frame.file.starts_with('<') && frame.line != 0);
}

// True if the frame is code of an installed package that is neither Python's own nor PyTorch.
bool IsLibrary(const CallFrame& frame) {
  for (const std::string_view packages : {"/site-packages/", "/dist-packages/"}) {
    if (!HasPathPart(frame.file, packages)) continue;
    return !HasPathPart(frame.file, "-packages/torch/");
  }
  return false;
}

// Returns "forward" for "Linear.forward".
std::string_view PlainName(std::string_view function) {
  return function.substr(function.rfind('.') + 1);
}

// True if another function made this one ("add_hook_to_module.<locals>.new_forward"). Before Python
// 3.11 the stack has no such names.
bool IsMadeByFunction(std::string_view function) {
  return function.substr(0, function.size() - PlainName(function).size()).ends_with("<locals>.");
}

// True if the function is a wrapper made by a decorator of PyTorch or Python. The names listed here
// are those of wrappers that appear without the name of the function that made them.
bool IsDecorators(std::string_view function) {
  const std::string_view name = PlainName(function);
  return IsMadeByFunction(function) || name == "decorate_context" || name == "decorate_autocast" ||
         name == "decorate_fwd" || name == "compile_wrapper" || name == "_fn" || name == "inner";
}

// Says whether a frame that calls the frames further inside is a wrapper of them.
struct Wrapped {
  bool in_any = false;    // whatever function the frame is in
  bool in_named = false;  // if the function is made by another one and is named like a wrapper
};

// Returns what a caller of `called` wraps. `inner` is the same for a caller of the frames within
// `called`. Frames that only forward to others may lie between a wrapper and what it wraps.
Wrapped Around(const CallFrame& called, Wrapped inner) {
  if (!IsPython(called)) return inner;
  const bool is_forward = PlainName(called.function) == "forward";
  if (is_forward && HasPathPart(called.file, "torch/nn/modules/")) {
    const bool is_module = !called.file.ends_with("_functions.py");
    return {is_module, is_module};
  }
  const bool is_installed = IsInstalledPython(called.file);
  Wrapped around = is_installed && IsDecorators(called.function) ? inner : Wrapped{};
  around.in_named |= is_forward && is_installed;
  return around;
}

// True if the frame only forwards to the function that it wraps, as accelerate's hooks around each
// module do. Such a hook calls forward() of a PyTorch module directly, while other code calls the
// module. The method forward() of a derived class is not a wrapper. A function that a library puts
// around a module of another library is recognised by its name.
bool IsWrapper(const CallFrame& frame, Wrapped wrapped) {
  const std::string_view name = PlainName(frame.function);
  const bool is_made = IsMadeByFunction(frame.function);
  if (!IsPython(frame) || (name == "forward" && !is_made)) return false;
  const bool is_named = is_made && (Has(name, "forward") || Has(name, "wrap"));
  return is_named ? wrapped.in_named : wrapped.in_any;
}

std::string LineOf(const CallFrame& frame) {
  std::string line = LastPart(frame.file);
  if (frame.line != 0) line += ":" + std::to_string(frame.line);
  return line + " " + std::string(frame.function);
}

// Returns the part of the function's name after `prefix` up to the first character that is not
// allowed in an identifier.
std::string NameAfter(std::string_view function, std::string_view prefix) {
  const size_t place = function.find(prefix);
  if (place == std::string_view::npos) return "";
  constexpr size_t kLongest = 256;
  std::string_view rest = function.substr(place + prefix.size(), kLongest);
  const auto end = std::find_if_not(rest.begin(), rest.end(), [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  return std::string(rest.begin(), end);
}

// Returns the name of an autograd function, like "MulBackward0". It finds both the names of
// generated functions and those of functions that are written by hand.
std::string BackwardName(std::string_view function) {
  std::string name = NameAfter(function, "torch::autograd::generated::");
  const size_t end = name.find("_apply_functional");
  if (end != std::string::npos) name.resize(end);
  if (Has(name, "Backward")) return name;
  if (Has(function, "torch::autograd::AccumulateGrad")) return "AccumulateGrad";
  return "";
}

// True if the operator only creates or resizes memory, so that its name does not show the purpose
// of the memory.
bool MakesOnly(std::string_view name) { return Has(name, "empty") || Has(name, "resize"); }

std::string OperatorOf(const std::vector<CallFrame>& frames) {
  for (const CallFrame& frame : frames) {
    if (frame.file == kOperator && !Has(frame.function, "empty")) {
      return std::string(frame.function);
    }
    std::string name = NameAfter(frame.function, "at::_ops::");
    if (name.empty()) name = NameAfter(frame.function, "wrapper_CUDA_");
    if (name.empty()) name = NameAfter(frame.function, "at::native::");
    if (name.empty() || MakesOnly(name)) continue;
    return "aten::" + std::string(PlainOperator(name));
  }
  return "";
}

// Returns "linear" for "aten::linear". Operators of libraries other than ATen keep their full
// names.
std::string AsUsersCall(std::string_view name) {
  constexpr std::string_view kAten = "aten::";
  if (name.starts_with(kAten)) name.remove_prefix(kAten.size());
  return std::string(name);
}

// Returns the operator that Python or autograd calls, found within the innermost frame that calls
// one.
std::string CallOf(const std::vector<CallFrame>& frames) {
  std::string name;
  for (const CallFrame& frame : frames) {
    const bool is_callers =
        IsPython(frame) || frame.file == kBackward || !BackwardName(frame.function).empty();
    if (is_callers && !name.empty()) break;
    if (frame.file == kOperator) {
      if (!MakesOnly(frame.function)) name = AsUsersCall(frame.function);
      continue;
    }
    // Functions that Python calls directly have the name that users know.
    const std::string bound = NameAfter(frame.function, "torch::autograd::THPVariable_");
    if (!bound.empty()) return bound;
    const std::string called = NameAfter(frame.function, "at::_ops::");
    if (!called.empty() && !MakesOnly(called)) name = PlainOperator(called);
  }
  return name;
}

bool IsWorkspace(std::string_view function) {
  return Has(function, "CUDABlasWorkspace") || Has(function, "CurrentCUDABlas") ||
         Has(function, "cublasLtWorkspace") || Has(function, "getNewWorkspace") ||
         Has(function, "getUnifiedWorkspace") || Has(function, "cudnnConvolution") ||
         Has(function, "run_conv_plan");
}

// True if the function or the file creates a key/value cache. It is recognised by the names that
// text-generation libraries use.
bool MakesCache(std::string_view function, std::string_view file) {
  for (const char* name : {"kv_cache", "KVCache", "DynamicCache.", "StaticCache."}) {
    if (Has(function, name)) return true;
  }
  return Has(file, "cache_engine") || Has(file, "kv_cache") || file == "cache_utils.py";
}

// Returns the phase that one frame shows. In a stack, the innermost frame that shows a phase
// decides.
Phase PhaseOf(const CallFrame& frame) {
  const std::string_view function = frame.function;
  if (!IsPython(frame)) {
    if (frame.file == kBackward) return Phase::kBackward;
    if (IsWorkspace(function)) return Phase::kWorkspace;
    if (Has(function, "torch::autograd::Engine") || Has(function, "torch::autograd::Node::") ||
        Has(function, "torch::autograd::generated::") || Has(function, "AccumulateGrad")) {
      return Phase::kBackward;
    }
    return Phase::kUnknown;
  }
  const std::string file = LastPart(frame.file);
  // In a qualified name the class comes first, as in "Block.forward".
  const std::string_view name = function.substr(function.rfind('.') + 1);
  if (MakesCache(function, file)) return Phase::kCache;
  if (Has(frame.file, "/optim/") || Has(file, "optim")) {
    return name == "__init__" ? Phase::kInit : Phase::kOptimizer;
  }
  if (name == "backward" || name == "_engine_run_backward") return Phase::kBackward;
  // A node of the compiler's CUDA graphs runs the recorded function in its constructor, so the name
  // says nothing about the phase.
  if (HasPathPart(frame.file, "torch/_inductor/")) return Phase::kUnknown;
  if (name == "__init__" || name == "_apply" || name == "load_state_dict" ||
      name == "_load_from_state_dict" || name == "reset_parameters") {
    return Phase::kInit;
  }
  if (name == "forward" || name == "_call_impl" || name == "generate") {
    return Phase::kForward;
  }
  if (Has(frame.file, "dataloader") || Has(file, "dataset") || Has(function, "collate") ||
      Has(function, "get_batch") || Has(function, "load_batch")) {
    return Phase::kData;
  }
  return Phase::kUnknown;
}

// True for a function named "backward" that is not one of PyTorch's own. It either belongs to an
// autograd function, or it calls backward() later. Functions of frameworks that scale the loss
// first are of the second kind.
bool IsNamedBackward(const CallFrame& frame) {
  if (!IsPython(frame) || HasPathPart(frame.file, "torch/_tensor.py") ||
      HasPathPart(frame.file, "torch/autograd/")) {
    return false;
  }
  return frame.function.substr(frame.function.rfind('.') + 1) == "backward";
}

// Says for each frame whether autograd called it and the frames further inside. On autograd's own
// threads, frames have no caller in Python. The frames are visited once, from outside inwards,
// because a stack from a file may have very many.
std::vector<bool> CalledByAutograd(const std::vector<CallFrame>& frames) {
  std::vector<bool> called(frames.size());
  bool is_any_python = false;
  bool is_any_backward = false;
  for (size_t i = frames.size(); i-- > 0;) {
    called[i] = is_any_backward || !is_any_python;
    is_any_python |= IsPython(frames[i]);
    is_any_backward |= !IsNamedBackward(frames[i]) && PhaseOf(frames[i]) == Phase::kBackward;
  }
  return called;
}

// Returns the phase that a frame shows, in view of its callers.
Phase PhaseIn(const CallFrame& frame, bool is_called_by_autograd) {
  const bool calls_later = IsNamedBackward(frame) && !is_called_by_autograd;
  return calls_later ? Phase::kUnknown : PhaseOf(frame);
}

// True if a compiler or an autotuner runs functions in this frame to measure their speed. Such runs
// are not a part of the program's own work.
bool IsTrial(const CallFrame& frame) {
  if (!IsPython(frame)) return false;
  for (const char* file :
       {"torch/_inductor/select_algorithm.py", "torch/_inductor/runtime/benchmarking.py",
        "torch/_inductor/autotune_process.py", "triton/testing.py",
        "triton/runtime/autotuner.py"}) {
    if (HasPathPart(frame.file, file)) return true;
  }
  return false;
}

// True for torch.autograd.grad, a backward pass that leaves no gradients behind.
bool IsGradCall(const CallFrame& frame) {
  return frame.function == "grad" && frame.file.ends_with("torch/autograd/__init__.py");
}

// True if the frame works on double-precision numbers, by the type in a template's name or by a
// module's method double().
bool IsFloat64(const CallFrame& frame) {
  if (IsPython(frame)) {
    return frame.function.ends_with("Module.double") && Has(frame.file, "torch/nn/");
  }
  // Only the types in the name of the function itself count, and not those of its parameters: a
  // parameter may be a Python number, which is a double in C++.
  std::string_view name = frame.function;
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t end = name.find('(');
  while (end != std::string_view::npos && name.substr(end).starts_with(kAnonymous)) {
    end = name.find('(', end + kAnonymous.size());
  }
  name = name.substr(0, end);
  for (size_t at = name.find("<double"); at != std::string_view::npos;
       at = name.find("<double", at + 1)) {
    const std::string_view before = name.substr(0, at);
    if (!before.ends_with("optional") && !before.ends_with("ArrayRef")) return true;
  }
  return false;
}

// Returns "Decoder" for "Decoder.forward"; empty if the function does not belong to a model. A
// function within another one, like "patch.<locals>.forward", does not belong to a model.
std::string_view ClassOf(std::string_view function) {
  constexpr std::string_view kForward = ".forward";
  if (!function.ends_with(kForward)) return "";
  function.remove_suffix(kForward.size());
  if (function.ends_with("<locals>")) return "";
  return function.substr(function.rfind('.') + 1);
}

// Returns the classes of the modules that run within the line `own` of the program, the outermost
// first. Returns an empty text if this line itself is a part of a model.
std::string ClassesOf(const std::vector<CallFrame>& frames, const CallFrame* own) {
  std::vector<std::string_view> classes;
  for (const CallFrame& frame : frames) {
    if (&frame == own) break;
    if (const std::string_view name = ClassOf(frame.function); !name.empty() && IsPython(frame)) {
      classes.push_back(name);
    }
  }
  const bool is_model = own == nullptr || own->function.ends_with("forward");
  if (is_model || classes.empty()) return "";
  std::ranges::reverse(classes);
  std::string joined;
  for (const std::string_view name : classes) {
    if (!joined.empty()) joined += '.';
    joined += name;
  }
  return joined;
}

uint64_t NumberOf(const CallFrame& frame) {
  const std::hash<std::string_view> hash;
  return hash(frame.file) * 31 + hash(frame.function);
}

}  // namespace

std::string WithoutNumbers(const std::string& module) {
  std::vector<std::string> parts = absl::StrSplit(module, '.');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    const bool is_number = !parts[i].empty() && std::ranges::all_of(parts[i], [](char c) {
      return c >= '0' && c <= '9';
    });
    if (is_number) parts[i] = "*";
  }
  return absl::StrJoin(parts, ".");
}

const char* PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kInit:
      return "set-up";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kData:
      return "data";
    case Phase::kWorkspace:
      return "workspace";
    case Phase::kCache:
      return "cache";
    case Phase::kUnknown:
      break;
  }
  return "unknown";
}

namespace {

// Returns the name of the call site. `line` is the frame whose source line names the call site;
// null if there is no such frame.
std::string SiteOf(const StackWords& words, const std::vector<CallFrame>& frames,
                   const CallFrame* line, const std::string& backward) {
  if (line != nullptr) return LineOf(*line);
  if (!backward.empty()) {
    std::string site = backward == "AccumulateGrad"
                           ? backward
                           : "backward of " + backward.substr(0, backward.find("Backward"));
    if (!words.module.empty()) site += " in " + WithoutNumbers(words.module);
    return site;
  }
  if (!words.operation.empty()) return words.operation;
  return frames.empty() ? "unknown" : "native code";
}

// The lines of Python that may name a call site; each pointer is the innermost such frame.
struct Lines {
  const CallFrame* own = nullptr;  // a frame of the application
  const CallFrame* generated = nullptr;
  const CallFrame* wrapper = nullptr;  // also a frame of the application
  std::string library;
  std::vector<OwnLine> own_lines;
  std::vector<OwnLine> generated_lines;
};

OwnLine OwnLineOf(const CallFrame& frame) { return {LineOf(frame), NumberOf(frame), frame.line}; }

void AddLine(const CallFrame& frame, Wrapped wrapped, Lines* lines) {
  const bool is_installed = IsInstalledPython(frame.file);
  if (IsWrapper(frame, wrapped)) {
    const bool is_own = !is_installed && !IsGeneratedPython(frame.file);
    if (is_own && lines->wrapper == nullptr) lines->wrapper = &frame;
  } else if (!is_installed && IsGeneratedPython(frame.file)) {
    if (lines->generated == nullptr) lines->generated = &frame;
    lines->generated_lines.push_back(OwnLineOf(frame));
  } else if (!is_installed) {
    if (lines->own == nullptr) lines->own = &frame;
    lines->own_lines.push_back(OwnLineOf(frame));
  } else if (lines->own == nullptr && lines->library.empty() && IsLibrary(frame)) {
    lines->library = LineOf(frame);
  }
}

// Returns the frames with the beginnings of their names. The words of a call site are stored once
// for each line and operation, so a file could otherwise fill the memory with one long name.
std::vector<CallFrame> WithCutNames(const std::vector<CallFrame>& stack) {
  constexpr size_t kLongestName = 1024;
  constexpr size_t kLongestNative = 16 * 1024;  // names of C++ have the arguments of templates
  constexpr size_t kLongestFile = 4096;
  std::vector<CallFrame> frames = stack;
  for (CallFrame& frame : frames) {
    const bool is_native = !IsPython(frame) && !frame.file.starts_with('<');
    frame.function = frame.function.substr(0, is_native ? kLongestNative : kLongestName);
    frame.file = frame.file.substr(0, kLongestFile);
  }
  return frames;
}

// Returns the frame of the application after which the call site is named, or null if the stack has
// no such frame. Also moves the source lines of the application and of the library from `lines` to
// `words`.
const CallFrame* MoveOwnLines(Lines lines, StackWords* words) {
  words->library_site = std::move(lines.library);
  const CallFrame* own = lines.own;
  words->own = std::move(lines.own_lines);
  if (own == nullptr && lines.wrapper != nullptr) {
    own = lines.wrapper;
    words->own = {OwnLineOf(*own)};
  }
  // The whole program may be a text (python -c). So if the stack has no source file of the program,
  // code from a text, with a file name like "<string>", counts as the program. A file that a
  // compiler generated does not.
  const CallFrame* generated = lines.generated;
  if (own == nullptr && generated != nullptr && generated->file.starts_with('<')) {
    own = generated;
    words->own = std::move(lines.generated_lines);
  }
  std::ranges::reverse(words->own);
  return own;
}

}  // namespace

StackWords WordsOf(const std::vector<CallFrame>& stack) {
  const std::vector<CallFrame> frames = WithCutNames(stack);
  StackWords words;
  Lines lines;
  const CallFrame* python = nullptr;  // the innermost Python frame
  std::string backward;
  bool calls_empty_cache = false;  // true if the previous frame calls it
  const std::vector<bool> by_autograd = CalledByAutograd(frames);
  Wrapped wrapped;  // what the current frame would wrap
  for (const CallFrame& frame : frames) {
    const Phase phase = PhaseIn(frame, by_autograd[static_cast<size_t>(&frame - frames.data())]);
    if (words.phase == Phase::kUnknown) words.phase = phase;
    words.in_backward |= phase == Phase::kBackward || IsGradCall(frame);
    words.in_optimizer |= phase == Phase::kOptimizer;
    words.is_float64 |= IsFloat64(frame);
    if (frame.file == kModule && words.module.empty()) words.module = frame.function;
    if (backward.empty()) {
      backward = frame.file == kBackward ? frame.function : BackwardName(frame.function);
    }
    if (!IsPython(frame)) continue;
    if (python == nullptr) python = &frame;
    AddLine(frame, wrapped, &lines);
    wrapped = Around(frame, wrapped);
    if (calls_empty_cache && !IsInstalledPython(frame.file)) words.empty_cache_line = LineOf(frame);
    calls_empty_cache = frame.function == "empty_cache" && IsInstalledPython(frame.file);
    words.empties_cache |= calls_empty_cache;
    words.frames.push_back(LineOf(frame));
    words.files.emplace_back(frame.file);
  }
  if (std::ranges::any_of(frames, IsTrial)) {
    words.phase = Phase::kUnknown;
    words.in_backward = words.in_optimizer = false;
  }
  const CallFrame* generated = lines.generated;
  const CallFrame* own = MoveOwnLines(std::move(lines), &words);
  words.is_own_call = own != nullptr && python == own;
  std::ranges::reverse(words.frames);
  std::ranges::reverse(words.files);
  words.made_by = OperatorOf(frames);
  words.operation = CallOf(frames);
  if (words.operation.empty()) words.operation = AsUsersCall(words.made_by);
  if (words.operation.empty() && python != nullptr) words.operation = python->function;
  if (words.operation.empty()) words.operation = backward;
  if (words.made_by.empty()) words.made_by = words.operation;
  // PyTorch calls some of its operators through Python code of its own, so this line does not name
  // the call site.
  const bool is_pytorchs = (backward.ends_with("Backward0") && words.library_site.empty()) ||
                           (python != nullptr && python == generated);
  words.classes = ClassesOf(frames, own);
  words.site = SiteOf(words, frames,
                      own != nullptr ? own
                      : is_pytorchs  ? nullptr
                                     : python,
                      backward);
  if (!words.module.empty()) words.frames.push_back(words.module);
  if (!backward.empty()) words.frames.push_back(backward);
  if (words.frames.empty()) words.frames.push_back(words.site);
  if (!words.made_by.empty() && words.frames.back() != words.made_by) {
    words.frames.push_back(words.made_by);
  }
  words.files.resize(words.frames.size());
  return words;
}

}  // namespace vramstow
