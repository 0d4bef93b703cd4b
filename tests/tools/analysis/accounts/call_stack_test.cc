#include "tools/analysis/accounts/call_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vramstow {
namespace {

using testing::ElementsAre;

TEST(CallStack, TheSiteIsTheInnermostLineOfTheApplication) {
  const StackWords words = WordsOf({
      {"c10::cuda::CUDACachingAllocator::Native::malloc", "CUDACachingAllocator.cpp", 0},
      {"at::_ops::empty_memory_format::call(c10::ArrayRef<long>)", "??", 0},
      {"at::_ops::linear::call(at::Tensor const&)", "??", 0},
      {"forward", "/env/lib/python3.12/site-packages/torch/nn/modules/linear.py", 125},
      {"_PyEval_EvalFrameDefault", "??", 0},
      {"forward", "/home/user/model.py", 42},
      {"<module>", "/home/user/train.py", 7},
  });
  EXPECT_EQ(words.site, "model.py:42 forward");
  EXPECT_EQ(words.operation, "linear");
  EXPECT_EQ(words.made_by, "aten::linear");
  EXPECT_EQ(words.phase, Phase::kForward);
  EXPECT_THAT(words.frames, ElementsAre("train.py:7 <module>", "model.py:42 forward",
                                        "linear.py:125 forward", "aten::linear"));
}

TEST(CallStack, NumbersAreWideWhereTheFunctionIsForDoubleNotWhereAnArgumentIs) {
  const auto is_float64 = [](const char* function) {
    return WordsOf({{function, "??", 0}}).is_float64;
  };
  EXPECT_TRUE(is_float64("void at::cuda::blas::gemm<double>(char, char, long)"));
  EXPECT_TRUE(is_float64("void at::(anonymous namespace)::scan<double>(at::Tensor const&)"));
  EXPECT_FALSE(is_float64("at::native::scaled_dot_product_attention(std::optional<double>, bool)"));
  EXPECT_FALSE(is_float64("at::Tensor c10::Dispatcher::call<at::Tensor, std::optional<double>>()"));
  EXPECT_FALSE(is_float64("at::(anonymous namespace)::upsample(c10::ArrayRef<double>)"));
}

TEST(CallStack, PythonThatAProgramWroteIsNoUsersLine) {
  const auto site_in = [](std::string_view file, std::string_view caller) {
    return WordsOf({{"at::_ops::bmm::call(at::Tensor const&)", "??", 0},
                    {"call", file, 120},
                    {"train", caller, 17}})
        .site;
  };
  for (const char* file : {"/tmp/torchinductor_jo/x3/cx3abc.py",
                           "/cache/sn/csnjb25pshk4ztu7yv3bmptvu2vkfxdgagv7hp26dath3wjvyxqb.py",
                           "D:\\cache\\gu\\cguwa5frt5abjm5zvyhvf36fxccenu7ks5enqlm23bssioxxgnyc.py",
                           "/tmp/jo_pyg/tmp1/GCNConv_propagate.py", "<string>", "<eval_with_key>.7",
                           "/opt/vramstow/lib/vramstow/start/trials.py"}) {
    EXPECT_EQ(site_in(file, "/home/jo/train.py"), "train.py:17 train") << file;
  }
  // A cell of a notebook is the user's code, and so is `python -c` if there is no other code.
  EXPECT_EQ(site_in("<ipython-input-3-ab>", "/home/jo/train.py"), "<ipython-input-3-ab>:120 call");
  EXPECT_EQ(site_in("<string>", "<string>"), "<string>:120 call");
  // These files have a long name, or lie in a folder that only resembles one of Inductor's.
  for (const char* file : {"/home/jo/ab/csnjb25pshk4ztu7yv3bmptvu2vkfxdgagv7hp26dath3wjvyxqb.py",
                           "/home/jo/om/compare.py", "/home/jo/om/compare_all_models_of_one.py"}) {
    EXPECT_TRUE(site_in(file, "/home/jo/train.py").ends_with(":120 call")) << file;
  }
}

// Autograd's threads run code that Inductor has generated, and the stack contains no source line of
// the user's.
TEST(CallStack, PythonThatACompilerWroteNamesNoSite) {
  const StackWords words = WordsOf({
      {"at::_ops::mm_out::call(at::Tensor const&)", "??", 0},
      {"Runner.call", "/tmp/torchinductor_jo/x3/cx3abc.py", 438},
      {"CompiledFunctionBackward.apply", "/x/site-packages/torch/autograd/function.py", 311},
      {"torch::autograd::Engine::evaluate_function(…)", "??", 0},
  });
  EXPECT_EQ(words.site, "mm_out");
}

TEST(CallStack, PathsOfWindowsTellWhatIsInstalled) {
  const StackWords words = WordsOf({
      {"at::_ops::bmm::call(at::Tensor const&)", "??", 0},
      {"call", "C:\\Users\\Jo\\venv\\Lib\\site-packages\\models\\attention.py", 120},
      {"run", "C:\\Program Files\\Python312\\Lib\\threading.py", 9},
      {"train", "D:\\work\\train.py", 17},
  });
  EXPECT_EQ(words.site, "train.py:17 train");
  EXPECT_EQ(words.library_site, "attention.py:120 call");
}

TEST(CallStack, OperatorsHaveTheNamesThatUsersCall) {
  const auto operation = [](const char* function) {
    return WordsOf({{function, "??", 0}}).operation;
  };
  EXPECT_EQ(operation("at::native::structured_addmm_out_cuda::impl(at::Tensor)"), "addmm");
  EXPECT_EQ(operation("at::_ops::sum_dim_IntList::call(at::Tensor const&)"), "sum_dim");
  EXPECT_EQ(operation("at::_ops::pow_Tensor_Scalar::call(at::Tensor const&)"), "pow");
}

TEST(CallStack, AutogradsThreadsHaveNoPython) {
  const StackWords words = WordsOf({
      {"at::_ops::mul_Tensor::call(at::Tensor const&)", "??", 0},
      {"torch::autograd::generated::MulBackward0_apply_functional(std::vector<at::Tensor>)",
       "Functions.cpp", 0},
      {"torch::autograd::Engine::evaluate_function(…)", "??", 0},
      {"__clone", "??", 0},
  });
  EXPECT_EQ(words.site, "backward of Mul");
  EXPECT_EQ(words.phase, Phase::kBackward);
}

// PyTorch's own Python code, which looks up an operator, means nothing to a user, so it is not the
// call site. Python code of a library is.
TEST(CallStack, AutogradsThreadsHaveNoPythonOfTheProgram) {
  const auto site_with = [](std::string_view file) {
    return WordsOf({{"at::_ops::bmm::call(at::Tensor const&)", "??", 0},
                    {"eager_router", file, 1145},
                    {"torch::autograd::generated::BmmBackward0_apply_functional(…)", "??", 0},
                    {"__clone", "??", 0}})
        .site;
  };
  EXPECT_EQ(site_with("/usr/lib/python3/site-packages/torch/registry.py"), "backward of Bmm");
  EXPECT_EQ(site_with("/usr/lib/python3/site-packages/ops/router.py"),
            "router.py:1145 eager_router");
}

TEST(CallStack, TheOperationIsWhatPythonCalls) {
  const auto operation = [](const std::vector<CallFrame>& frames) {
    return WordsOf(frames).operation;
  };
  const CallFrame mm = {"at::_ops::mm::call(at::Tensor const&)", "libtorch_cpu.so", 0};
  const CallFrame addmm = {"at::_ops::addmm::redispatch(c10::DispatchKeySet)", "??", 0};
  const CallFrame linear = {"at::_ops::linear::call(at::Tensor const&)", "??", 0};
  const CallFrame python = {"Linear.forward", "/x/site-packages/torch/nn/modules/linear.py", 134};
  EXPECT_EQ(operation({addmm, linear, python}), "linear");
  EXPECT_EQ(WordsOf({addmm, linear, python}).made_by, "aten::addmm");
  // The name of the operation comes from the function of PyTorch's Python binding. It has no
  // overload in it, and it is also used if the operator only allocates memory.
  EXPECT_EQ(operation({{"at::_ops::mean_dim::call(at::Tensor const&)", "??", 0},
                       {"torch::autograd::THPVariable_mean(_object*, _object*)", "??", 0},
                       python}),
            "mean");
  EXPECT_EQ(operation({{"at::_ops::empty_memory_format::call()", "??", 0},
                       {"torch::autograd::THPVariable_empty(_object*, _object*)", "??", 0},
                       python}),
            "empty");
  // In the first stack autograd calls the operator. In the second one the inner operator is the
  // operation, because a Python function lies between it and the outer operator.
  EXPECT_EQ(operation({mm, {"torch::autograd::generated::AddmmBackward0::apply()", "??", 0}}),
            "mm");
  EXPECT_EQ(operation({mm, python, linear, python}), "mm");
}

TEST(CallStack, AModelThatALineCallsIsNamedByItsClasses) {
  const CallFrame mm = {"at::_ops::mm::call(at::Tensor const&)", "libtorch_cpu.so", 0};
  const CallFrame linear = {"Linear.forward", "/x/site-packages/torch/nn/modules/linear.py", 134};
  const CallFrame block = {"Sequential.forward", "/x/site-packages/torch/nn/modules/container.py",
                           250};
  EXPECT_EQ(WordsOf({mm, linear, block, {"main", "/home/jo/train.py", 8}}).classes,
            "Sequential.Linear");
  // If the stack has a source line of the model itself, the class names are not needed.
  EXPECT_EQ(WordsOf({mm, linear, {"Net.forward", "/home/jo/net.py", 8}}).classes, "");
  EXPECT_EQ(WordsOf({mm, {"main", "/home/jo/train.py", 8}}).classes, "");
  // A function that replaces a model's own method has no class; a class that is defined within a
  // function is a class.
  const CallFrame patched = {"patch.<locals>.forward", "/x/site-packages/fast/llama.py", 12};
  const CallFrame made = {"make.<locals>.Net.forward", "/x/site-packages/fast/net.py", 12};
  EXPECT_EQ(WordsOf({mm, linear, patched, made, {"main", "/home/jo/train.py", 8}}).classes,
            "Net.Linear");
}

TEST(CallStack, WhatPyTorchSaidIsAtWorkCounts) {
  const StackWords forward = WordsOf({
      {"aten::addmm", "<operator>", 0},
      {"Decoder.blocks.0.up", "<module>", 0},
      {"at::_ops::linear::call(at::Tensor const&)", "??", 0},
      {"forward", "/home/user/model.py", 42},
  });
  EXPECT_EQ(forward.site, "model.py:42 forward");
  EXPECT_EQ(forward.operation, "linear");
  EXPECT_EQ(forward.made_by, "aten::addmm");
  EXPECT_EQ(forward.module, "Decoder.blocks.0.up");
  EXPECT_THAT(forward.frames,
              ElementsAre("model.py:42 forward", "Decoder.blocks.0.up", "aten::addmm"));
  const StackWords backward = WordsOf({
      {"aten::mm", "<operator>", 0},
      {"AddmmBackward0", "<backward>", 0},
      {"Decoder.blocks.0.up", "<module>", 0},
      {"__clone", "??", 0},
  });
  EXPECT_EQ(backward.site, "backward of Addmm in Decoder.blocks.*.up");
  EXPECT_EQ(backward.operation, "mm");
  EXPECT_EQ(backward.phase, Phase::kBackward);
}

TEST(CallStack, ThePhaseIsThatOfTheInnermostFrameThatTells) {
  EXPECT_EQ(WordsOf({{"step", "/x/torch/optim/adamw.py", 3}, {"forward", "a.py", 1}}).phase,
            Phase::kOptimizer);
  EXPECT_EQ(WordsOf({{"__init__", "/x/model.py", 3}}).phase, Phase::kInit);
  EXPECT_EQ(WordsOf({{"CUDAGraphNode.__init__", "/x/torch/_inductor/cudagraph_trees.py", 3},
                     {"CompiledFunction.forward", "/x/torch/_functorch/runtime_wrappers.py", 5}})
                .phase,
            Phase::kForward);
  EXPECT_EQ(WordsOf({{"at::cuda::getCUDABlasWorkspace()", "??", 0}, {"forward", "a.py", 1}}).phase,
            Phase::kWorkspace);
  EXPECT_EQ(WordsOf({{"_allocate_kv_cache", "/x/cache_engine.py", 3}}).phase, Phase::kCache);
  EXPECT_EQ(WordsOf({{"main", "a.py", 1}}).phase, Phase::kUnknown);
}

TEST(CallStack, ACacheOfKeysAndValuesIsOneInEveryLibrary) {
  for (const CallFrame& frame :
       {CallFrame{"DynamicLayer.update",
                  "/env/lib/python3.12/site-packages/transformers/cache_utils.py", 114},
        CallFrame{"KVCache.grow", "/home/user/model.py", 12},
        CallFrame{"allocate", "/env/lib/python3.12/site-packages/engine/kv_cache_manager.py", 3}}) {
    const StackWords words = WordsOf({frame, {"Attention.forward", "/home/user/model.py", 42}});
    EXPECT_EQ(words.phase, Phase::kCache) << frame.function;
  }
  const StackWords other = WordsOf({{"cached_property.__get__", "/home/user/cache.py", 3}});
  EXPECT_EQ(other.phase, Phase::kUnknown);
}

TEST(CallStack, ALibrarysLineIsTheInnermostThatIsNotPyTorchs) {
  const StackWords words = WordsOf(
      {{"Linear.forward", "/env/lib/python3.12/site-packages/torch/nn/modules/linear.py", 125},
       {"LlamaMLP.forward", "/env/lib/python3.12/site-packages/models/modeling_llama.py", 181},
       {"Trainer.train", "/env/lib/python3.12/site-packages/transformers/trainer.py", 1400},
       {"<module>", "/home/user/train.py", 7}});
  EXPECT_EQ(words.site, "train.py:7 <module>");
  EXPECT_EQ(words.library_site, "modeling_llama.py:181 LlamaMLP.forward");
}

// A call of torch.nn.Linear by `caller`, through the function `wrapper` in `file`.
StackWords WordsOfWrapped(const char* wrapper, const char* file, const CallFrame& caller) {
  return WordsOf({{"at::_ops::linear::call(at::Tensor const&)", "??", 0},
                  {"Linear.forward", "/e/site-packages/torch/nn/modules/linear.py", 134},
                  {wrapper, file, 192},
                  {"Module._call_impl", "/e/site-packages/torch/nn/modules/module.py", 1762},
                  caller,
                  {"Module._call_impl", "/e/site-packages/torch/nn/modules/module.py", 1762},
                  {"main", "/home/jo/train.py", 9}});
}

TEST(CallStack, AFunctionThatIsPutAroundAnotherNamesNoSite) {
  constexpr const char* kAccelerate = "/e/site-packages/accelerate/hooks.py";
  constexpr const char* kOwn = "/home/jo/patch.py";
  const CallFrame llama = {"LlamaMLP.forward", "/e/site-packages/transformers/llama.py", 164};
  const CallFrame net = {"Net.forward", "/home/jo/net.py", 4};
  for (const char* wrapper : {"add_hook_to_module.<locals>.new_forward", "new_forward",
                              "convert_outputs_to_fp32.<locals>.forward", "Converted.__call__"}) {
    EXPECT_EQ(WordsOfWrapped(wrapper, kAccelerate, llama).library_site,
              "llama.py:164 LlamaMLP.forward")
        << wrapper;
    EXPECT_EQ(WordsOfWrapped(wrapper, kOwn, net).site, "net.py:4 Net.forward") << wrapper;
    // The wrapper is the call site if the program has no other source line in the stack.
    const StackWords words = WordsOf({{"Linear.forward", "torch/nn/modules/linear.py", 134},
                                      {wrapper, "/home/jo/patch.py", 192}});
    EXPECT_EQ(words.site.substr(0, 12), "patch.py:192") << wrapper;
    EXPECT_EQ(words.own.size(), 1U) << wrapper;
  }
}

TEST(CallStack, ADecoratorOfPyTorchsMayStandBetween) {
  for (const char* decorator : {"context_decorator.<locals>.decorate_context", "decorate_autocast",
                                "_TorchDynamoContext.__call__.<locals>.compile_wrapper"}) {
    const StackWords words =
        WordsOf({{"Linear.forward", "/e/site-packages/torch/nn/modules/linear.py", 134},
                 {decorator, "/e/site-packages/torch/utils/_contextlib.py", 120},
                 {"instrument.<locals>.wrapped_fn", "/e/site-packages/deepspeed/utils/nvtx.py", 20},
                 {"Block.forward", "/e/site-packages/models/block.py", 7},
                 {"main", "/home/jo/train.py", 9}});
    EXPECT_EQ(words.library_site, "block.py:7 Block.forward") << decorator;
  }
}

TEST(CallStack, WhatWorksByItselfIsNoWrapper) {
  // The wrapper is a derived class, or a nested function that calls modules, or one that calls an
  // operator by its name.
  const CallFrame caller = {"Net.forward", "/home/jo/net.py", 4};
  EXPECT_EQ(WordsOfWrapped("Scaled.forward", "/home/jo/scaled.py", caller).site,
            "scaled.py:192 Scaled.forward");
  for (const CallFrame& called :
       {CallFrame{"Module._call_impl", "/e/site-packages/torch/nn/modules/module.py", 1762},
        CallFrame{"cross_entropy", "/e/site-packages/torch/nn/functional.py", 3500},
        CallFrame{"Attend.forward", "/e/site-packages/flash/attend.py", 80}}) {
    const StackWords words = WordsOf({{"Linear.forward", "/e/site-packages/flash/mm.py", 1},
                                      called,
                                      {"main.<locals>.train_step", "/home/jo/train.py", 12},
                                      {"main", "/home/jo/train.py", 20}});
    EXPECT_EQ(words.site, "train.py:12 main.<locals>.train_step") << called.function;
  }
}

TEST(CallStack, AStackThatTellsNothingSaysSo) {
  EXPECT_EQ(WordsOf({}).site, "unknown");
  EXPECT_EQ(WordsOf({{"??", "??", 0}}).site, "native code");
}

TEST(CallStack, EmptyCacheIsTheProgramsWhereItsOwnLineCallsIt) {
  const CallFrame call = {"empty_cache", "/env/lib/python3.12/site-packages/torch/cuda/memory.py",
                          9};
  const CallFrame own = {"loop", "/home/me/train.py", 77};
  const CallFrame library = {"release_memory",
                             "/env/lib/python3.12/site-packages/accelerate/utils/memory.py", 69};
  EXPECT_TRUE(WordsOf({call, own}).empties_cache);
  EXPECT_EQ(WordsOf({call, own}).empty_cache_line, "train.py:77 loop");
  EXPECT_TRUE(WordsOf({call, library, own}).empties_cache);
  EXPECT_EQ(WordsOf({call, library, own}).empty_cache_line, "");
  EXPECT_EQ(WordsOf({own}).empty_cache_line, "");
}

}  // namespace
}  // namespace vramstow
