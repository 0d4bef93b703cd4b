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
  EXPECT_EQ(Shown({"generate", "--eos-token-id", "-1", "--pad_token_id=-100"}),
            "generate --eos-token-id -1 --pad_token_id=-100");
  EXPECT_EQ(Shown({"python", "-c", "print(key == 'x')"}), "python -c print(key == 'x')");
  EXPECT_EQ(Shown({"python", "-c", "assert password == 'hunter2xyz'"}),
            "python -c assert password == '***'");
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
            "x *** -H Bearer: ***");
  EXPECT_EQ(Shown({"python", "-c", "login('ghp_0123456789abcdefghij')"}), "python -c login('***')");
  // These words are not hidden: the first one is too short for a token, and in the second one the
  // token's beginning is in the middle of a word.
  EXPECT_EQ(Shown({"sk-learn", "task-0123456789abcdefghij"}), "sk-learn task-0123456789abcdefghij");
}

TEST(Secrets, ANumberIsShownOnlyAfterANameOfACount) {
  EXPECT_EQ(Shown({"run", "--password", "12345678", "--password=12345678", "DB_SECRET=1"}),
            "run --password *** --password=*** DB_SECRET=***");
  EXPECT_EQ(Shown({"run", "--auth-token", "123", "--api-key=123", "--pin-pat=1"}),
            "run --auth-token *** --api-key=*** --pin-pat=***");
  EXPECT_EQ(Shown({"run", "--num-key-value-heads=8", "pad_token=0", "--pad-token", "50256"}),
            "run --num-key-value-heads=8 pad_token=0 --pad-token 50256");
}

TEST(Secrets, AValueThatBeginsWithADashIsHidden) {
  EXPECT_EQ(Shown({"run", "--password", "-Abc1", "--secret", "--X!y", "--token", "-v"}),
            "run --password *** --secret *** --token -v");
  EXPECT_EQ(Shown({"run", "--auth", "-Token", "abc"}), "run --auth *** ***");
}

TEST(Secrets, TheLastPartOfANameInPartsDecides) {
  EXPECT_EQ(Shown({"train", "+wandb/api_key=abc", "~db.password=a b", "runs/token/lr=0.1"}),
            "train +wandb/api_key=*** ~db.password=*** runs/token/lr=0.1");
}

TEST(Secrets, ValuesOfSecretNamesAreHiddenWithinTexts) {
  const auto text = [](const char* given) { return Shown({"-c", given}).substr(3); };
  EXPECT_EQ(text("import os; os.environ[\"HF_TOKEN\"]=\"a b\"; main()"),
            "import os; os.environ[\"HF_TOKEN\"]=\"***\"; main()");
  EXPECT_EQ(text("os.environ.setdefault('WANDB_API_KEY', 'abc')"),
            "os.environ.setdefault('WANDB_API_KEY', '***')");
  EXPECT_EQ(text("export DB_PASSWORD=abc HF_TOKEN='x y'; run --token abc --lr 1"),
            "export DB_PASSWORD=*** HF_TOKEN='***'; run --token *** --lr 1");
  EXPECT_EQ(text("{\\\"password\\\": \\\"abc\\\", \\\"n\\\": 1}"),
            "{\\\"password\\\": \\\"***\\\", \\\"n\\\": 1}");
  EXPECT_EQ(text("hf_hub_access_token = abc"), "hf_hub_access_token = ***");
  EXPECT_EQ(text("x[token:]; max_token = 512; monkey=1; key"),
            "x[token:]; max_token = 512; monkey=1; key");
}

TEST(Secrets, HeadersOfAuthorizationAreHidden) {
  EXPECT_EQ(Shown({"curl", "-H", "Authorization: Bearer abc", "https://a.b"}),
            "curl -H Authorization: Bearer *** https://a.b");
  EXPECT_EQ(Shown({"--header=Authorization: Basic dXNlcg==", "-H", "X-Api-Key: 1"}),
            "--header=Authorization: Basic *** -H X-Api-Key: ***");
  EXPECT_EQ(Shown({"sh", "-c", "curl -H \"authorization: token a, b\" x"}),
            "sh -c curl -H \"authorization: token ***\" x");
  EXPECT_EQ(Shown({"with bearer abcdefgh", "the bearer of"}), "with bearer *** the bearer of");
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
