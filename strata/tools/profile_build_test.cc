// profile_build as a program.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "strata/cache/profile/expert_profile.h"
#include "strata/cache/profile/expert_profile_file.h"
#include "strata/cache/testing/test_profile.h"
#include "strata/cache/testing/test_trace.h"
#include "strata/cache/trace/routing_trace.h"
#include "strata/core/cli/json_output.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/gguf/model_test_file.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Strings = std::vector<std::string>;

// Of eight kinds.
const Strings kTexts = {
    "In the beginning God created the heaven and the earth. And the earth was without form, and "
    "void; and darkness was upon the face of the deep.",
    "int main(int argc, char** argv) {\n  for (int i = 1; i < argc; ++i) puts(argv[i]);\n}\n",
    "Das Programm liest eine Datei und schreibt die Zeilen in umgekehrter Reihenfolge.",
    "Le programme lit un fichier et en affiche les lignes dans l'ordre inverse.",
    "To install a package, become the administrator and run the package manager with its name.",
    "Expert: one who has skill, experience, or extensive knowledge in his calling.",
    "The scheduler picks the task with the smallest virtual runtime from a red-black tree.",
    "1 2 4 8 16 32 64 128 256 512 1024 2048 4096 8192\n",
};

std::string Tiny() { return Runfile("testdata/strata-tiny-q4_k_m.gguf").value(); }

Strings Command(Strings arguments) {
  arguments.insert(arguments.begin(), Runfile("strata/tools/profile_build").value());
  return arguments;
}

ProgramResult RunTool(const Strings& arguments) { return RunProgram(Command(arguments)); }

void ExpectDone(const Strings& arguments) {
  const ProgramResult result = RunTool(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A folder for each test.
struct ProfileBuildTest : testing::Test {
  ProfileBuildTest()
      : folder(fs::path(testing::TempDir()) /
               testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder);
    fs::create_directories(folder);
  }

  std::string Path(const std::string& name) const { return folder / name; }
  std::string File(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }
  Strings TextFiles() const {
    Strings paths;
    for (const std::string& text : kTexts) {
      paths.push_back(File(absl::StrCat("text", paths.size(), ".txt"), text));
    }
    return paths;
  }
  // The path of the profile.
  std::string Build(const std::string& name, Strings arguments,
                    const std::string& model = Tiny()) const {
    arguments.insert(arguments.begin(), {"build", "--model", model, "--out", Path(name)});
    ExpectDone(arguments);
    return Path(name);
  }
  std::string Merge(const std::string& name, Strings arguments) const {
    arguments.insert(arguments.begin(), {"merge", "--out", Path(name)});
    ExpectDone(arguments);
    return Path(name);
  }
  // Profiles of single texts, merged in any order and grouping, are the bytes of the whole.
  void ExpectMergesToTheWhole(const Strings& texts, const Strings& flags,
                              const std::string& model) const {
    Strings all = texts;
    all.insert(all.end(), flags.begin(), flags.end());
    const std::string whole = Content(Build("whole", all, model));
    Strings parts;
    for (size_t i = 0; i < texts.size(); ++i) {
      Strings one = flags;
      one.push_back(texts[i]);
      parts.push_back(Build(absl::StrCat("part", i), one, model));
    }
    EXPECT_EQ(Content(Merge("at_once", parts)), whole);
    const uint64_t seed = TestSeed();
    std::mt19937 random(seed);
    for (int round = 0; round < 5; ++round) {
      Strings left = parts;
      while (left.size() > 1) {
        std::shuffle(left.begin(), left.end(), random);
        const size_t taken = 2 + random() % (left.size() - 1);
        const Strings group(left.end() - taken, left.end());
        left.resize(left.size() - taken);
        left.push_back(Merge(absl::StrCat("group", round, "_", left.size()), group));
      }
      EXPECT_EQ(Content(left[0]), whole) << "seed " << seed;
    }
  }

  const fs::path folder;
};

TEST_F(ProfileBuildTest, EightTextsOneByOneMergeToTheProfileOfAll) {
  ExpectMergesToTheWhole(TextFiles(), {}, Tiny());
}

TEST_F(ProfileBuildTest, EightTextsOfALargerModelMergeToo) {
  const char* const data = std::getenv("STRATA_TEST_DATA");
  if (data == nullptr || !fs::exists(absl::StrCat(data, "/models/strata-small-q4_k_m.gguf"))) {
    GTEST_SKIP() << "STRATA_TEST_DATA has no strata-small-q4_k_m.gguf";
  }
  Strings texts;
  for (const char* name : {"scripture", "german", "french", "c_code", "handbook_en", "kerneldoc",
                           "dictionary", "README"}) {
    const std::string file = absl::StrCat(data, "/texts/", name);
    texts.push_back(absl::StrCat(file, fs::exists(file + ".txt") ? ".txt" : ".md"));
  }
  ExpectMergesToTheWhole(texts, {"--max_tokens", "100", "--max_context", "64"},
                         absl::StrCat(data, "/models/strata-small-q4_k_m.gguf"));
}

TEST_F(ProfileBuildTest, ShardsMergeToTheProfileOfAll) {
  const std::string prompts = File("prompts", "first prompt\n\nsecond prompt\nthird\n");
  Strings texts = TextFiles();
  texts.insert(texts.end(), {"--prompts", prompts});
  const std::string whole = Build("whole", texts);
  Strings shards;
  for (const std::string shard : {"3/3", "1/3", "2/3"}) {
    Strings arguments = texts;
    arguments.insert(arguments.end(), {"--shard", shard});
    shards.push_back(Build("shard" + shard.substr(0, 1), arguments));
  }
  EXPECT_EQ(Content(Merge("merged", shards)), Content(whole));
}

TEST_F(ProfileBuildTest, ThreadsAndBatchesChangeNothing) {
  const std::string text = File("text", kTexts[0]);
  const std::string one = Build("one", {text, "--threads", "1", "--prompt_batch", "1"});
  EXPECT_EQ(Content(Build("other", {text, "--threads", "3", "--prompt_batch", "7"})), Content(one));
}

TEST_F(ProfileBuildTest, TextsAreCutIntoContextsAndTokens) {
  const std::string text = File("text", kTexts[0]);
  const auto whole = LoadProfile(Build("whole", {text}));
  const auto pieces = LoadProfile(Build("pieces", {text, "--max_context", "8"}));
  EXPECT_EQ(whole->num_tokens(), pieces->num_tokens());
  EXPECT_NE(whole->counts(), pieces->counts());
  const auto first = LoadProfile(Build("first", {text, "--max_tokens", "8"}));
  EXPECT_EQ(first->num_tokens(), 8u);
  EXPECT_EQ(first->num_entries(), 8u * 4 * 2);
}

TEST_F(ProfileBuildTest, AnEmptyTextAddsItsLabelAlone) {
  const auto profile = LoadProfile(Build("empty", {File("nothing.txt", "")}));
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->num_tokens(), 0u);
  EXPECT_THAT(*profile->sources().begin(), StartsWith("nothing.txt#"));
}

pid_t Start(const Strings& command) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

// Texts and contexts that a checkpoint says are done; docs/formats.md.
uint64_t Done(const std::string& checkpoint) {
  std::ifstream file(checkpoint, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (bytes.size() < 44) return 0;
  uint64_t numbers[2];
  std::memcpy(numbers, bytes.data() + 28, sizeof numbers);
  return (numbers[0] << 32) + numbers[1];
}

TEST_F(ProfileBuildTest, AKilledBuildGoesOnWhereItWasAndEndsWithTheSameBytes) {
  std::string text;
  for (int i = 0; i < 20; ++i) absl::StrAppend(&text, kTexts[i % kTexts.size()], "\n");
  const Strings texts = {File("a", text), File("b", text + "b"), "--max_context", "16"};
  const std::string whole = Build("whole", texts);
  EXPECT_FALSE(fs::exists(whole + ".partial"));

  Strings arguments = {"build", "--model", Tiny(), "--out", Path("killed"), "--save_every", "0"};
  arguments.insert(arguments.end(), texts.begin(), texts.end());
  const std::string checkpoint = Path("killed.partial");
  uint64_t done = 0;
  for (int kills = 0; kills < 4; ++kills) {
    const pid_t child = Start(Command(arguments));
    ASSERT_GT(child, 0);
    int status = 0;
    while (Done(checkpoint) <= done && waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_GT(Done(checkpoint), done) << "it ended before it was killed";
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended before it was killed";
    done = Done(checkpoint);
    EXPECT_FALSE(fs::exists(Path("killed")));
  }
  const ProgramResult last = RunTool(arguments);
  EXPECT_EQ(last.exit_code, 0) << last.err;
  EXPECT_THAT(last.err, HasSubstr("going on after"));
  EXPECT_EQ(Content(Path("killed")), Content(whole));
  EXPECT_FALSE(fs::exists(checkpoint));
}

TEST_F(ProfileBuildTest, ProgressBeginsWithTheWork) {
  const std::string text = File("text", kTexts[0]);
  const Strings arguments = {"build", "--model", Tiny(), "--out", Path("out"), text};
  EXPECT_THAT(RunTool(arguments).err,
              StartsWith(absl::StrCat("profiling texts: 0 B of ", kTexts[0].size(), " B (0 %)\n")));
  Strings quiet = arguments;
  quiet.push_back("--quiet");
  EXPECT_EQ(RunTool(quiet).err, "");
}

TEST_F(ProfileBuildTest, ACheckpointOfOtherArgumentsIsNotUsed) {
  const std::string text = File("text", kTexts[0]);
  const std::string whole = Build("whole", {text});
  File("out.partial", "STRAPART, but damaged");
  const ProgramResult result = RunTool({"build", "--model", Tiny(), "--out", Path("out"), text});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("starting anew"));
  EXPECT_EQ(Content(Path("out")), Content(whole));
}

TEST_F(ProfileBuildTest, TracesBecomeProfilesAndText) {
  const TraceHeader header = TestTraceHeader();
  const auto writer = RoutingTraceWriter::Create(Path("trace"), header);
  ASSERT_TRUE(writer.ok()) << writer.status();
  ExpertProfile expected(header.identity);
  for (int i = 0; i < 3; ++i) {
    RoutedStep step = TestStep(header.identity.geometry, i, 4);
    step.num_accepted = i + 1;
    (*writer)->AddStep(step);
    (*writer)->AddSwap({.step = i, .newcomer = 1});
    expected.Count(step);
  }
  ASSERT_TRUE((*writer)->Finish().ok());
  ExpectDone({"from-trace", "--out", Path("profile"), Path("trace")});
  const auto profile = LoadProfile(Path("profile"));
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(profile->counts(), expected.counts());
  EXPECT_EQ(profile->num_tokens(), 6u);
  EXPECT_THAT(*profile->sources().begin(), StartsWith("trace#"));

  const ProgramResult shown = RunTool({"show-trace", Path("trace")});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\nstep number=2 kind=prompt position=20 tokens=4 accepted=3 "));
  EXPECT_THAT(shown.out, HasSubstr("\nswap after=2 newcomer=1.1 victim=none"));
  File("cut", Content(Path("trace")).substr(0, 300));
  EXPECT_EQ(RunTool({"show-trace", Path("cut")}).exit_code, 2);
  EXPECT_EQ(RunTool({"from-trace", "--out", Path("cut.profile"), Path("cut")}).exit_code, 2);
  EXPECT_FALSE(fs::exists(Path("cut.profile")));
}

TEST_F(ProfileBuildTest, ShowsAProfile) {
  ASSERT_TRUE(SaveProfile(TestProfile({{3, 1}}, 4, {"a"}), Path("p")).ok());
  EXPECT_THAT(RunTool({"show", Path("p")}).out, HasSubstr("4 tokens, 4 routed entries"));
  const ProgramResult result = RunTool({"show", Path("p"), "--json"});
  EXPECT_EQ(Json::parse(result.out)["tokens"], 4);
}

TEST_F(ProfileBuildTest, MergesIntoOneOfItsInputs) {
  const ExpertProfile profile = TestProfile({{3, 1}}, 4, {"a"});
  ASSERT_TRUE(SaveProfile(profile, Path("p")).ok());
  Merge("p", {Path("p"), Path("p")});
  EXPECT_EQ(*LoadProfile(Path("p")), TestProfile({{6, 2}}, 8, {"a"}));
}

// The kind and the file of the error.
void ExpectRefused(const Strings& arguments, const std::string& kind, const std::string& file) {
  const ProgramResult result = RunTool(arguments);
  EXPECT_EQ(result.exit_code, 2) << result.err;
  const Json error = Json::parse(result.out, nullptr, /*allow_exceptions=*/false)["error"];
  EXPECT_EQ(error["kind"], kind);
  EXPECT_EQ(error["file"], file);
}

TEST_F(ProfileBuildTest, RefusesProfilesOfAnotherModel) {
  ASSERT_TRUE(SaveProfile(TestProfile({{3, 1}}), Path("p")).ok());
  ASSERT_TRUE(SaveProfile(TestProfile({{3, 1, 1}}), Path("q")).ok());
  ExpectRefused({"merge", "--json", "--out", Path("out"), Path("p"), Path("q")}, "profile_mismatch",
                Path("q"));
  EXPECT_FALSE(fs::exists(Path("out")));
}

TEST_F(ProfileBuildTest, RefusesADenseModelPlainly) {
  DenseModel().WriteTo(Path("dense.gguf"));
  ExpectRefused({"build", "--json", "--model", Path("dense.gguf"), "--out", Path("out"),
                 File("text", kTexts[0])},
                "no_experts", Path("dense.gguf"));
}

TEST_F(ProfileBuildTest, WrongCommandLinesAreSaidClearly) {
  const std::string text = File("text", kTexts[0]);
  const std::string out = Path("out");
  for (const Strings& wrong : std::vector<Strings>{
           {},
           {"bild"},
           {"build", "--model", Tiny(), "--out", out},
           {"build", "--out", out, text},
           {"build", "--model", Tiny(), text},
           {"build", "--model", Tiny(), "--out", text, text},
           {"build", "--model", Tiny(), "--out", Tiny(), text},
           {"build", "--model", Tiny(), "--out", out, text, "--shard", "3/2"},
           {"build", "--model", Tiny(), "--out", out, text, "--max_tokens", "-1"},
           {"build", "--model", Tiny(), "--out", out, text, "--prompt_batch", "0"},
           {"build", "--model", Tiny(), "--out", "-", text},
           {"merge", "--out", "-", text},
           {"merge", "--out", out},
           {"merge", text},
           {"merge", "--out", out, text, "--model", Tiny()},
           {"show"},
           {"show", text, text},
           {"show-trace", text, "--json"},
       }) {
    const ProgramResult result = RunTool(wrong);
    EXPECT_EQ(result.exit_code, 1) << testing::PrintToString(wrong) << result.err;
    EXPECT_NE(result.err, "");
  }
  EXPECT_EQ(RunTool({"--help"}).exit_code, 0);
}

TEST_F(ProfileBuildTest, ABuildWritesOverNoFileOfAnotherKind) {
  const std::string text = File("t.partial", kTexts[0]);
  const std::string out = Path("t");
  // A text of its own, by its name and by another, and a stranger's file.
  fs::create_symlink(text, Path("link"));
  EXPECT_EQ(RunTool({"build", "--model", Tiny(), "--out", out, text}).exit_code, 1);
  EXPECT_EQ(RunTool({"build", "--model", Tiny(), "--out", out, Path("link")}).exit_code, 1);
  ExpectRefused({"build", "--json", "--model", Tiny(), "--out", out, File("u", kTexts[1])},
                "bad_magic", text);
  std::ifstream file(text);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), kTexts[0]);
  EXPECT_FALSE(fs::exists(out));
}

TEST_F(ProfileBuildTest, APathThatCannotBeWrittenIsSaidBeforeTheWork) {
  const std::string folder = Path("folder");
  fs::create_directory(folder);
  EXPECT_EQ(
      RunTool({"build", "--model", Tiny(), "--out", folder, File("text", kTexts[0])}).exit_code, 2);
  EXPECT_FALSE(fs::exists(folder + ".partial"));
}

TEST_F(ProfileBuildTest, AFullDiskIsTheMachines) {
  ASSERT_TRUE(SaveProfile(TestProfile({{3, 1}}), Path("p")).ok());
  EXPECT_EQ(RunTool({"merge", "--out", "/dev/full", Path("p")}).exit_code, 3);
}

}  // namespace
}  // namespace strata
