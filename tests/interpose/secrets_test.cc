// Tests which parts of a command line are written into a trace.
#include "interpose/core/record/secrets.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace vramstow {
namespace {

std::string Shown(const std::vector<std::string>& arguments, size_t room = 4096) {
  std::string given;
  for (const std::string& argument : arguments) given += argument + '\0';
  std::string shown(room, '?');
  shown.resize(ShowWithoutSecrets(given.data(), given.size(), shown.data(), shown.size()));
  return shown;
}

TEST(Secrets, AnOrdinaryCommandStaysAsItIs) {
  EXPECT_EQ(Shown({"python", "train.py", "--lr=0.1", "--keys", "a b", "KEYBOARD=us"}),
            "python train.py --lr=0.1 --keys a b KEYBOARD=us");
  EXPECT_EQ(Shown({"generate", "--max-tokens=512", "--max_token", "512", "--tokenizer=gpt2"}),
            "generate --max-tokens=512 --max_token 512 --tokenizer=gpt2");
  EXPECT_EQ(Shown({"sh", "-c", "echo\nhi", "", "x"}), "sh -c echo hi  x");
  EXPECT_EQ(Shown({}), "");
}

TEST(Secrets, ValuesOfFlagsAndVariablesWithSecretNamesAreHidden) {
  EXPECT_EQ(Shown({"env", "HF_TOKEN=abc", "wandbApiKey=x=y", "python"}),
            "env HF_TOKEN=*** wandbApiKey=*** python");
  EXPECT_EQ(Shown({"run", "--api-key", "abc", "--password=p w", "--token", "--next", "v"}),
            "run --api-key *** --password=*** --token --next v");
  EXPECT_EQ(Shown({"run", "--db.password="}), "run --db.password=");
}

TEST(Secrets, TokensOfKnownServicesAreHiddenWhereverTheyAre) {
  EXPECT_EQ(Shown({"x", "hf_abcdefghijklmnopqrst", "-H", "Bearer: sk-proj-0123456789abcdef!"}),
            "x *** -H Bearer: ***!");
  EXPECT_EQ(Shown({"python", "-c", "login('ghp_0123456789abcdefghij')"}), "python -c login('***')");
  // These words are not hidden: the first one is too short for a token, and in the second one the
  // token's beginning is in the middle of a word.
  EXPECT_EQ(Shown({"sk-learn", "task-0123456789abcdefghij"}), "sk-learn task-0123456789abcdefghij");
}

TEST(Secrets, PasswordsInAddressesAreHidden) {
  EXPECT_EQ(Shown({"x", "--db=postgres://me:pass@host:5432/db", "http://host:80/a@b"}),
            "x --db=postgres://me:***@host:5432/db http://host:80/a@b");
}

TEST(Secrets, WhatDoesNotFitIsCut) {
  EXPECT_EQ(Shown({"python", "train.py"}, 9), "python tr");
  EXPECT_EQ(Shown({"python"}, 0), "");
}

TEST(Secrets, ABufferThatWasCutIsReadToItsEndAndNoFurther) {
  const std::string given("a\0--token\0secr", 14);
  for (size_t size = 0; size <= given.size(); ++size) {
    const std::string exact(given, 0, size);  // AddressSanitizer detects an overrun of it
    char shown[64];
    const size_t length = ShowWithoutSecrets(exact.data(), size, shown, sizeof shown);
    EXPECT_EQ(std::string(shown, length).find("sec"), std::string::npos);
  }
}

}  // namespace
}  // namespace vramstow
