// `generate` with a prompt, as a program, on the small model of testdata.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/cuda_device.h"
#include "strata/core/gguf/gguf_file.h"
#include "strata/core/gguf/gguf_value.h"
#include "strata/generate/testing/random_model.h"
#include "strata/generate/testing/run_generate.h"
#include "strata/generate/tokenizer/token_id.h"

namespace strata {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace fs = std::filesystem;

const std::vector<std::string> kBeginning = {"--prompt=In the beginning", "--max_new=12"};

std::vector<std::string> With(std::vector<std::string> flags,
                              const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

TEST(GenerateCommandTest, ContinuesAPromptWithTheModelOfTestdata) {
  const ProgramResult result = RunGenerate(kBeginning);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("LORD"));
  EXPECT_THAT(result.out, ::testing::EndsWith("\n"));
}

// Greedy text of so small a model goes in circles, which a penalty keeps it from.
TEST(GenerateCommandTest, TheModelOfTestdataDoesNotGoInCircles) {
  const auto repeats = [](const std::vector<TokenId>& ids) {
    constexpr int kRun = 24;  // Tokens, of 256.
    for (auto run = ids.begin(); run + kRun < ids.end(); ++run) {
      if (std::search(run + 1, ids.end(), run, run + kRun) != ids.end()) return true;
    }
    return false;
  };
  const Json answer = GenerateJson({"--prompt=In the beginning"});
  EXPECT_FALSE(repeats(answer["ids"])) << answer["text"];
  EXPECT_FALSE(answer["stats"].contains("seed")) << "nothing is drawn";
  const Json named = GenerateJson({"--prompt=In the beginning", "--repetition_penalty=1"});
  EXPECT_TRUE(repeats(named["ids"]));
  const std::string model = Runfile("testdata/strata-tiny-q4_k_m.gguf").value();
  EXPECT_EQ(GenerateJson({"--prompt=In the beginning", "--model=" + model})["ids"], named["ids"]);
}

TEST(GenerateCommandTest, PrintsOneObjectWithJson) {
  const Json answer = GenerateJson(kBeginning);
  EXPECT_EQ(answer["prompt_ids"].size(), 3);
  EXPECT_EQ(answer["ids"].size(), 12);
  EXPECT_EQ(answer["text"].get<std::string>() + "\n", RunGenerate(kBeginning).out);
  EXPECT_EQ(answer["stop_reason"], "length");
  EXPECT_EQ(answer["prompt_batch"], 128);
  const Json& stats = answer["stats"];
  EXPECT_EQ(stats["routed"], (3 + 11) * 4 * 2) << "tokens x layers x experts per token";
  EXPECT_EQ(stats["hits"].get<int>() + stats["misses"]["cpu"].get<int>(), stats["routed"]);
  EXPECT_GT(stats["ttft_ms"], 0);
  EXPECT_GT(stats["prompt_tps"], 0);
  EXPECT_GT(stats["decode_tps"], 0);
}

TEST(GenerateCommandTest, StatsGoToStderr) {
  const ProgramResult result = RunGenerate(With(kBeginning, {"--stats"}));
  EXPECT_THAT(result.err,
              ContainsRegex("\nanswer\n  tokens +12\n  written at +[0-9.]+ tokens/s\n"));
  EXPECT_THAT(result.err, ContainsRegex("\nmemory\n  keys and values +[0-9.]+ .iB\n"));
  EXPECT_EQ(result.out, RunGenerate(kBeginning).out);
}

TEST(GenerateCommandTest, APromptComesFromAFileOrStdinAsWell) {
  const std::string path = TestFile("prompt.txt");
  WriteFile(path, "In the beginning");
  const std::string expected = RunGenerate(kBeginning).out;
  EXPECT_EQ(RunGenerate({"--prompt_file=" + path, "--max_new=12"}).out, expected);
  EXPECT_EQ(RunGenerate({"--prompt_file=-", "--max_new=12"}, "In the beginning").out, expected);
}

TEST(GenerateCommandTest, WordsWithoutAFlagAreAPrompt) {
  const std::string expected = RunGenerate(kBeginning).out;
  EXPECT_EQ(RunGenerate({"In the beginning", "--max_new=12"}).out, expected);
  EXPECT_EQ(RunGenerate({"In", "the", "--max_new=12", "beginning"}).out, expected);
  EXPECT_EQ(RunGenerate({"--chat", "Hello", "--max_new=5", "--seed=3"}).out,
            RunGenerate({"--chat", "--prompt=Hello", "--max_new=5", "--seed=3"}).out);
}

TEST(GenerateCommandTest, AFileOfAPromptIsReadAsPeopleSaveIt) {
  const std::string path = TestFile("saved.txt");
  WriteFile(path, "\xef\xbb\xbfIn the beginning\r\n");
  EXPECT_EQ(GenerateJson({"--prompt_file=" + path, "--max_new=1"})["prompt_ids"],
            GenerateJson(kBeginning)["prompt_ids"]);
  WriteFile(path, std::string("\xff\xfeI\0n\0", 6));
  const ProgramResult wide = RunGenerate({"--prompt_file=" + path});
  EXPECT_EQ(wide.exit_code, 2);
  EXPECT_THAT(wide.err, HasSubstr("UTF-16"));
}

TEST(GenerateCommandTest, NotesComeBeforeTheAnswerInPlainLines) {
  const ProgramResult result = RunGenerate(With(kBeginning, {"--device=cpu"}));
  EXPECT_EQ(result.err,
            "experts: 64 in the file's mapping (7.0 MiB)\n(cut after 12 tokens: --max_new)\n");
  EXPECT_EQ(RunGenerate(With(kBeginning, {"--quiet"})).err, "");
  EXPECT_THAT(RunGenerate(With(kBeginning, {"--device=cpu", "--log_level=info"})).err,
              HasSubstr("info: "));
}

TEST(GenerateCommandTest, WhatHasNoEffectOrComesToNothingIsSaid) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--top_k=40"}, "--top_k has no effect: the most likely token is always taken"},
      {{"--vram_limit=12GiB"}, "--vram_limit has no effect: the CPU computes"},
      {{"--miss=stage"}, "--miss has no effect: the CPU computes"},
      {{"--nolanding"}, "--landing has no effect: the CPU computes"},
      {{"--lend=3"}, "--lend has no effect: no expert has a slot"},
      {{"--pin_budget=1GiB"}, "--pin_budget has no effect: nothing is pinned"},
      {{"--stage_memory=pageable"}, "--stage_memory has no effect: nothing is pinned"},
      {{"--expert_cache=4KiB"}, "--expert_cache is too small for a single expert of 108 KiB"},
      {{"--expert_cache=1000"}, "more slots than the 64 experts"},
      {{"--expert_cache=8", "--lend=9"}, "--lend is more than the 8 slots"},
      {{"--expert_source=arena", "--host_experts=4KiB"}, "there is no arena"},
      {{"--max_context=5000"}, "more than the 4096 that the model was made for"},
  };
  for (const auto& [flags, sentence] : cases) {
    const ProgramResult result = RunGenerate(With(With(kBeginning, {"--device=cpu"}), flags));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr(sentence));
  }
}

TEST(GenerateCommandTest, WithoutSlotsTheCpuPinsNothing) {
  const std::vector<std::string> on_cpu = With(kBeginning, {"--device=cpu"});
  EXPECT_EQ(GenerateJson(on_cpu)["stats"]["pinned_bytes"], 0);
  EXPECT_GT(GenerateJson(With(on_cpu, {"--expert_cache=8"}))["stats"]["pinned_bytes"], 0);
}

TEST(GenerateCommandTest, MistakesAreFoundBeforeTheModelIsRead) {
  const std::string one = TestFile("no_prompt.txt");
  WriteFile(one, "\n");
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--prompt_file=" + TestFile("nowhere.txt")},
           {"--prompt_file=" + one},
           {"--prompt=a", "--device=cpu", "--expert_profile=" + one},
           {"--prompt=one two three four", "--max_context=3"},
           {"--chat", "--prompt=a", "--chat_format=none"}}) {
    const ProgramResult result = RunGenerate(flags);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1)
        << "no note of a model that was read: " << result.err;
  }
}

TEST(GenerateCommandTest, IdsAreFedAsTheyAre) {
  const Json by_text = GenerateJson(kBeginning);
  std::string ids;
  for (const Json& id : by_text["prompt_ids"]) ids += id.dump() + "\n ";
  const std::string path = TestFile("ids.txt");
  WriteFile(path, ids);
  const Json by_ids = GenerateJson({"--tokens_file=" + path, "--max_new=12"});
  EXPECT_EQ(by_ids["prompt_ids"], by_text["prompt_ids"]);
  EXPECT_EQ(by_ids["ids"], by_text["ids"]);
}

TEST(GenerateCommandTest, AStopTextEndsTheAnswerAndIsNotPrinted) {
  const std::string text = GenerateJson(kBeginning)["text"];
  const size_t comma = text.find(',');
  ASSERT_NE(comma, std::string::npos) << text;
  const Json answer = GenerateJson(With(kBeginning, {"--stop=,"}));
  EXPECT_EQ(answer["text"], text.substr(0, comma));
  EXPECT_EQ(answer["stop_reason"], "stop");
  const Json line = GenerateJson(With(kBeginning, {"--stop=\\n"}));
  EXPECT_EQ(line["text"], text.substr(0, text.find('\n')));
}

// The model of testdata with another token for the end of a text.
std::string ModelThatEndsWith(TokenId eos) {
  std::string bytes = ReadFile(Runfile("testdata/strata-tiny-q4_k_m.gguf").value());
  const std::string key = "tokenizer.ggml.eos_token_id";
  const size_t value = bytes.find(key) + key.size() + sizeof(uint32_t);  // Behind the type.
  std::memcpy(&bytes[value], &eos, sizeof(eos));
  const std::string path = TestFile("other_eos.gguf");
  WriteFile(path, bytes);
  return path;
}

TEST(GenerateCommandTest, AnEndTokenEndsTheAnswerUnlessIgnored) {
  const std::vector<TokenId> ids =
      GenerateJson(With(kBeginning, {"--repetition_penalty=1"}))["ids"];
  const auto until = std::find(ids.begin(), ids.end(), ids[4]) + 1;
  const std::string model = "--model=" + ModelThatEndsWith(ids[4]);
  const Json answer = GenerateJson(With(kBeginning, {model}));
  EXPECT_EQ(answer["stop_reason"], "eos");
  EXPECT_EQ(answer["ids"].get<std::vector<TokenId>>(), std::vector<TokenId>(ids.begin(), until));
  const Json ignored = GenerateJson(With(kBeginning, {model, "--ignore_eos"}));
  EXPECT_EQ(ignored["stop_reason"], "length");
  EXPECT_EQ(ignored["ids"].get<std::vector<TokenId>>(), ids);
}

// The model of testdata where a token is a control token, which is never text.
std::string ModelWithControlToken(TokenId id) {
  std::string bytes = ReadFile(Runfile("testdata/strata-tiny-q4_k_m.gguf").value());
  const std::string key = "tokenizer.ggml.token_type";
  // Behind the types of the value and its elements, and their number.
  const size_t first = bytes.find(key) + key.size() + 2 * sizeof(uint32_t) + sizeof(uint64_t);
  constexpr int32_t kControl = 3;
  std::memcpy(&bytes[first + sizeof(int32_t) * static_cast<size_t>(id)], &kControl,
              sizeof(kControl));
  const std::string path = TestFile("control_token.gguf");
  WriteFile(path, bytes);
  return path;
}

TEST(GenerateCommandTest, TheTextOfAControlTokenStopsAtThatToken) {
  const std::vector<TokenId> ids = GenerateJson(kBeginning)["ids"];
  const auto until = std::find(ids.begin(), ids.end(), ids[4]) + 1;
  const std::string path = ModelWithControlToken(ids[4]);
  const std::unique_ptr<GgufFile> file = GgufFile::Open(path).value();
  const GgufArray tokens = *file->FindKey("tokenizer.ggml.tokens")->AsArray();
  const std::string name(*(*std::next(tokens.begin(), ids[4])).AsString());
  const Json answer = GenerateJson(With(kBeginning, {"--model=" + path, "--stop=" + name}));
  EXPECT_EQ(answer["stop_reason"], "stop");
  EXPECT_EQ(answer["ids"].get<std::vector<TokenId>>(), std::vector<TokenId>(ids.begin(), until));
  EXPECT_THAT(answer["text"].get<std::string>(), ::testing::Not(HasSubstr(name)));
}

TEST(GenerateCommandTest, TheSameSeedGivesTheSameText) {
  const auto ids = [](const std::string& seed, const std::string& batch) {
    return GenerateJson(With(kBeginning, {"--temperature=1", "--top_p=0.9", "--seed=" + seed,
                                          "--prompt_batch=" + batch}))["ids"];
  };
  EXPECT_EQ(ids("1", "64"), ids("1", "2"));
  EXPECT_NE(ids("1", "64"), ids("2", "64"));
}

TEST(GenerateCommandTest, KeepsTheContextInSmallerTypes) {
  for (const std::string kv : {"f16", "int8"}) {
    const Json answer = GenerateJson(With(kBeginning, {"--kv=" + kv}));
    EXPECT_EQ(answer["ids"].size(), 12);
    EXPECT_LT(answer["stats"]["kv_bytes"], GenerateJson(kBeginning)["stats"]["kv_bytes"]);
  }
}

TEST(GenerateCommandTest, APromptMayFillTheContext) {
  const Json answer = GenerateJson({"--prompt=In the beginning", "--max_context=3"});
  EXPECT_EQ(answer["prompt_ids"].size(), 3);
  EXPECT_EQ(answer["ids"].size(), 0);
  EXPECT_EQ(answer["stop_reason"], "context");
}

TEST(GenerateCommandTest, SaysWhichLimitCutTheAnswer) {
  const std::vector<std::string> beginning = {"--prompt=In the beginning", "--ignore_eos"};
  EXPECT_EQ(GenerateJson(With(beginning, {"--max_new=2", "--max_context=9"}))["stop_reason"],
            "length");
  EXPECT_EQ(GenerateJson(With(beginning, {"--max_context=9"}))["stop_reason"], "context");
  EXPECT_THAT(RunGenerate(With(beginning, {"--max_new=2"})).err,
              HasSubstr("(cut after 2 tokens: --max_new)\n"));
  EXPECT_THAT(RunGenerate(With(beginning, {"--max_context=9"})).err,
              HasSubstr("(cut: the context of 9 tokens is full: --max_context)\n"));
}

TEST(GenerateCommandTest, AModelWithoutTokenizerGivesIds) {
  const std::string model = "--model=" + RandomModel{}.Write("no_tokenizer");
  WriteFile(TestFile("two_ids.txt"), "5 6");
  const std::string tokens = "--tokens_file=" + TestFile("two_ids.txt");
  const Json answer = GenerateJson({model, tokens, "--max_new=3"});
  EXPECT_EQ(answer["ids"].size(), 3);
  EXPECT_TRUE(answer["text"].is_null());
  const ProgramResult result = RunGenerate({model, "--prompt=a"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("tokenizer_missing"));
}

struct Wrong {
  std::vector<std::string> flags;
  int exit_code;
  std::string message;  // A part of it.
};

TEST(GenerateCommandTest, SaysWhatIsWrongAndWhoseFaultItIs) {
  const std::string folder = TestFile("folder.gguf");
  fs::create_directories(folder);
  const std::string truncated = TestFile("truncated.gguf");
  WriteFile(truncated,
            ReadFile(Runfile("testdata/strata-tiny-q4_k_m.gguf").value()).substr(0, 1000000));
  const std::string ids = TestFile("wrong_ids.txt");
  WriteFile(ids, "1 2 8192");
  const std::vector<Wrong> wrong = {
      {{}, 1, "give a text to continue, like: generate \"In the beginning\""},
      {{"--prompt=a", "--tokens_file=b"}, 1, "give one of"},
      {{"--prompt="}, 1, "prompt is empty"},
      {{"--chat", "--prompt="}, 1, "prompt is empty"},
      {{"--chat=false"}, 1, "give a text to continue"},
      {{"--prompt=a", "file"}, 1, "\"file\" is no flag"},
      {{"model.gguf"}, 1, "generate --model model.gguf --chat"},
      {{ids}, 1, "--prompt_file " + ids},
      {{"--pormpt=a"}, 1, "is --prompt meant?"},
      {{"--prompt=a", "--vram_limit=12"}, 1, "is 12 bytes, hardly what is meant"},
      {{"--prompt=a", "--temperature=-1"}, 1, "--temperature"},
      {{"--prompt=a", "--temperature=nan"}, 1, "--temperature"},
      {{"--prompt=a", "--top_p=0"}, 1, "--top_p"},
      {{"--prompt=a", "--min_p=1.5"}, 1, "--min_p"},
      {{"--prompt=a", "--temperature=1e300"}, 1, "--temperature"},
      {{"--prompt=a", "--repetition_penalty=0"}, 1, "--repetition_penalty"},
      {{"--prompt=a", "--repetition_penalty=1e-300"}, 1, "--repetition_penalty"},
      {{"--prompt=a", "--repetition_penalty=1e300"}, 1, "--repetition_penalty"},
      {{"--prompt=a", "--prompt_batch=0"}, 1, "prompt_batch"},
      {{"--prompt=a", "--threads=-1"}, 1, "threads"},
      {{"--prompt=a", "--threads=5000"}, 1, "--threads"},
      {{"--prompt=a", "--kv=q4"}, 1, "--kv"},
      {{"--prompt=a", "--stop=\\q"}, 1, "--stop"},
      {{"--prompt=a", "--device=tpu"}, 1, "--device"},
      {{"--chat", "--json"}, 1, "want a prompt"},
      {{"--prompt=one two three four", "--max_context=3"}, 1, "the context holds 3"},
      {{"--prompt=x", "--stop=\\x98"}, 1, "--stop is no UTF-8"},
      {{"--prompt=a", "--model=" + TestFile("nowhere.gguf")}, 2, "nowhere.gguf"},
      {{"--prompt=a", "--model=" + folder}, 2, "folder.gguf"},
      {{"--prompt=a", "--model=" + truncated}, 2, "out_of_file"},
      {{"--prompt_file=" + TestFile("nowhere.txt")}, 2, "nowhere.txt"},
      {{"--tokens_file=" + ids}, 2, "8192"},
      {{"--prompt=a", "--dump_logits=" + folder}, 2, "folder.gguf"},
      {{"--prompt=a", "--dump_logits=" + TestFile("no/such/dump")}, 2, "no/such/dump"},
      {{"--prompt=a", "--max_new=1", "--dump_logits=/dev/full"}, 3, "/dev/full"},
  };
  for (const Wrong& one : wrong) {
    const ProgramResult result = RunGenerate(one.flags);
    EXPECT_EQ(result.exit_code, one.exit_code) << one.message << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr(one.message));
    EXPECT_EQ(result.signal, 0);
  }
}

TEST(GenerateCommandTest, SaysWhatIsMissingWhereThereIsNoGpu) {
  if (CreateCudaDevice().ok()) GTEST_SKIP() << "there is one";
  const ProgramResult asked = RunGenerate({"--prompt=a", "--max_new=1", "--device=cuda"});
  EXPECT_EQ(asked.exit_code, 3) << asked.err;
  EXPECT_THAT(asked.err, HasSubstr("--device=cuda: "));
  const ProgramResult chosen = RunGenerate({"--prompt=a", "--max_new=1", "--device=auto"});
  EXPECT_EQ(chosen.exit_code, 0) << chosen.err;
  EXPECT_THAT(chosen.err, HasSubstr("computing on the CPU: "));
}

TEST(GenerateCommandTest, ResultsTakeNeitherThePlaceOfWhatIsReadNorOfEachOther) {
  const std::string model = RandomModel{}.Write("model");
  const std::string prompt = TestFile("read.txt");
  WriteFile(prompt, "1 2 3");
  const std::string before = ReadFile(model);
  for (const char* flag : {"--dump_logits=", "--dump_routing="}) {
    for (const std::string& path : {model, prompt, TestFile("./read.txt")}) {
      const ProgramResult result =
          RunGenerate({"--model=" + model, "--tokens_file=" + prompt, "--max_new=1", flag + path});
      EXPECT_EQ(result.exit_code, 1) << flag << path << result.err;
      EXPECT_THAT(result.err, HasSubstr("a file that is read"));
    }
  }
  EXPECT_EQ(ReadFile(model), before);
  EXPECT_EQ(ReadFile(prompt), "1 2 3");
  const ProgramResult both =
      RunGenerate({"--prompt=a", "--max_new=1", "--dump_logits=" + TestFile("both"),
                   "--dump_routing=" + TestFile("both")});
  EXPECT_EQ(both.exit_code, 1) << both.err;
  EXPECT_THAT(both.err, HasSubstr("name one file"));
  const ProgramResult chat = RunGenerate({"--chat", "--model=" + model, "--dump_routing=" + model});
  EXPECT_EQ(chat.exit_code, 1) << chat.err;
  EXPECT_EQ(ReadFile(model), before);
}

TEST(GenerateCommandTest, ARefusedModelIsAnErrorObjectWithJson) {
  const ProgramResult result = RunGenerate(
      {"--prompt=a", "--json", "--model=" + RandomModel{.architecture = "mimo2"}.Write("mimo")});
  EXPECT_EQ(result.exit_code, 2);
  const Json error = Json::parse(result.out)["error"];
  EXPECT_EQ(error["kind"], "unsupported_arch");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("qwen3moe"));
  EXPECT_THAT(error["file"].get<std::string>(), ::testing::EndsWith("mimo.gguf"));
}

TEST(GenerateCommandTest, EveryFaultIsAnErrorObjectWithJson) {
  for (const auto& [flags, code] : std::vector<std::pair<std::vector<std::string>, int>>{
           {{"--prompt="}, 1},
           {{"--no_such_flag"}, 1},
           {{"--prompt_file=" + TestFile("nowhere.txt")}, 2},
           {{"--prompt=a", "--max_new=1", "--dump_logits=/dev/full"}, 3}}) {
    const ProgramResult result = RunGenerate(With(flags, {"--json"}));
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_EQ(Json::parse(result.out)["error"]["exit_code"], code);
  }
}

TEST(GenerateCommandTest, CtrlCEndsTheAnswerNotTheProgram) {
  // More context than any machine fills in that time.
  const ProgramResult result =
      RunProgram({"/usr/bin/timeout", "--preserve-status", "--signal=INT", "2",
                  Runfile("strata/generate/generate").value(), "--prompt=In the beginning",
                  "--ignore_eos", "--max_new=1000000", "--max_context=1000000", "--json"});
  EXPECT_EQ(result.exit_code, 130) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(answer["stop_reason"], "interrupt");
  EXPECT_EQ(answer["error"]["kind"], "interrupted");
  EXPECT_EQ(answer["error"]["exit_code"], 130);
  EXPECT_THAT(answer["text"].get<std::string>(), StartsWith(" of the"));
}

}  // namespace
}  // namespace strata
