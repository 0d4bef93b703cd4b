// Tests SavedFields: it reads the members from PyTorch's generated header, in both forms in which
// the header writes a class.
#include "tools/launch/saved_fields.h"

#include <gtest/gtest.h>

namespace vramstow {
namespace {

TEST(SavedFields, EachMemberHasALine) {
  EXPECT_EQ(SavedFields("struct TORCH_API MmBackward0 : public TraceableFunction {\n"
                        "  void release_variables() override {\n"
                        "    mat2_.reset_data();\n"
                        "  }\n"
                        "  SavedVariable mat2_;\n"
                        "  std::vector<SavedVariable> tensors_;\n"
                        "  bool tensors_released_ = false;\n"
                        "};\n"),
            "VRAMSTOW_SAVED(MmBackward0, mat2_)\n"
            "VRAMSTOW_SAVED_LIST(MmBackward0, tensors_)\n");
}

TEST(SavedFields, TheClassOfAnotherSystemIsTheSameClass) {
  EXPECT_EQ(SavedFields("#ifdef _WIN32\n"
                        "struct AbsBackward0 : public TraceableFunction {\n"
                        "  TORCH_API AbsBackward0() = default;\n"
                        "#else\n"
                        "struct TORCH_API AbsBackward0 : public TraceableFunction {\n"
                        "#endif\n"
                        "  SavedVariable self_;\n"
                        "};\n"),
            "VRAMSTOW_SAVED(AbsBackward0, self_)\n");
}

TEST(SavedFields, WhatIsWrittenOtherwiseIsLeftOut) {
  EXPECT_EQ(SavedFields(""), "");
  EXPECT_EQ(SavedFields("SavedVariable nobodys_;\n"), "");
  EXPECT_EQ(SavedFields("struct TORCH_API A : public B {\n  SavedVariable f(int x);\n};\n"), "");
  EXPECT_EQ(SavedFields("struct 9A : public B {\n  SavedVariable x;\n};\n"), "");
  EXPECT_EQ(SavedFields("struct A;\n  SavedVariable x;\n"), "");
}

}  // namespace
}  // namespace vramstow
