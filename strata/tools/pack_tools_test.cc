// pack_build and pack_verify as programs, and what uses packs: what they print and how they end,
// also when they are killed, the disk is full and files change under them.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "strata/cache/pack/testing/small_model.h"
#include "strata/core/cli/run_program.h"
#include "strata/core/cli/runfiles.h"
#include "strata/core/test_seed.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using ::nlohmann::json;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

std::string Tool(const std::string& name) { return Runfile("strata/tools/" + name).value(); }

Strings Command(const std::string& tool, const Strings& arguments) {
  Strings command = {Tool(tool)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::set<std::string> Entries(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

class PackToolsTest : public testing::Test {
 protected:
  PackToolsTest()
      : folder_(NewFolder("tools")),
        pack_(folder_ + "/pack"),
        model_(WriteSmallModel(folder_, "model", {.layers = 4, .experts = 8})) {}
  ~PackToolsTest() override { fs::remove_all(folder_); }

  static ProgramResult Build(const Strings& arguments) {
    return RunProgram(Command("pack_build", arguments));
  }
  static ProgramResult Verify(const Strings& arguments) {
    return RunProgram(Command("pack_verify", arguments));
  }
  void BuildPackHere() const {
    const ProgramResult built = Build({model_, "--out", pack_, "--layout"});
    ASSERT_EQ(built.exit_code, 0) << built.err;
  }
  // A copy that a test may write to.
  std::string Copy(const std::string& from, const std::string& name) const {
    std::string path = absl::StrCat(folder_, "/", name);
    fs::copy_file(from, path, fs::copy_options::overwrite_existing);
    fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
    return path;
  }

  const std::string folder_, pack_, model_;
};

TEST_F(PackToolsTest, APackIsBuiltAndProvenWithItsSlots) {
  BuildPackHere();
  EXPECT_THAT(Entries(pack_), ElementsAre("experts.bin", "manifest.json"));
  const ProgramResult verified =
      Verify({pack_, "--fill", "--device=cpu", "--slots=20", "--lend=7", "--swaps=30"});
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("slot 0 verified\n"));
  EXPECT_THAT(verified.out, HasSubstr("swaps 30: 20 slots read back"));
  EXPECT_THAT(verified.out, HasSubstr("all is right\n"));
  const ProgramResult quick = Verify({pack_, "--quick"});
  EXPECT_EQ(quick.exit_code, 0);
  EXPECT_THAT(quick.out, HasSubstr("not checked: "));
}

TEST_F(PackToolsTest, SlotsOfAModelWithoutAPackAreComparedWithItsFile) {
  const ProgramResult verified =
      Verify({model_, "--fill", "--device=cpu", "--pin_budget=0", "--expert_source=stage",
              "--slots=50%", "--lend=3", "--swaps=9", "--json"});
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
  const json output = json::parse(verified.out);
  EXPECT_EQ(output["slots"]["passes"].size(), 3u);
  EXPECT_EQ(output["slots"]["passes"][2]["slots"], 16);
  EXPECT_EQ(output["differences"], 0);
}

TEST_F(PackToolsTest, DifferencesAreNamedInTextAndInOneObjectAndEndWithTwo) {
  BuildPackHere();
  Flip(pack_ + "/experts.bin", 4096 + 1792 + 5);  // Layer 0, expert 0, up.
  const ProgramResult text = Verify({pack_});
  EXPECT_EQ(text.exit_code, 2);
  EXPECT_THAT(text.out, HasSubstr("differs: layer 0, expert 0, up in experts.bin"));
  EXPECT_THAT(text.out, HasSubstr("byte 5893"));
  EXPECT_THAT(text.err, HasSubstr("[pack_differs]"));
  const ProgramResult result = Verify({pack_, "--json", "--fill", "--device=cpu"});
  EXPECT_EQ(result.exit_code, 2);
  const json output = json::parse(result.out);
  EXPECT_EQ(output["error"]["kind"], "pack_differs");
  const json& finding = output["files"]["findings"][0];
  EXPECT_EQ(finding["layer"], 0);
  EXPECT_EQ(finding["expert"], 0);
  EXPECT_EQ(finding["role"], "up");
  EXPECT_EQ(finding["offset"], 5893);
  // What is wrong in the file is wrong in the slot as well.
  const json& mismatches = output["slots"]["passes"][0]["mismatches"];
  ASSERT_EQ(mismatches.size(), 1u);
  EXPECT_EQ(mismatches[0]["role"], "up");
}

TEST_F(PackToolsTest, AnotherModelIsRefusedAndADamagedOneIsLookedThrough) {
  BuildPackHere();
  const std::string other = WriteSmallModel(folder_, "other", {.layers = 4, .experts = 7});
  const ProgramResult refused = Verify({pack_, "--model", other});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("the pack is of another model: tensor 2 "));
  // A damaged header: the rest is checked all the same.
  const std::string damaged = Copy(model_, "damaged.gguf");
  Flip(damaged, 2);
  const ProgramResult found = Verify({pack_, "--model", damaged});
  EXPECT_EQ(found.exit_code, 2);
  EXPECT_THAT(found.out, HasSubstr("differs: the header of shard 0"));
  const ProgramResult missing = Verify({pack_, "--model", folder_ + "/none.gguf"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.out, HasSubstr("none.gguf: cannot open"));
}

TEST_F(PackToolsTest, WrongCommandLinesAreRefused) {
  EXPECT_EQ(Build({}).exit_code, 1);
  EXPECT_EQ(Build({model_}).exit_code, 1);
  EXPECT_EQ(Build({model_, "--out", pack_, "--profile=x"}).exit_code, 1);
  EXPECT_EQ(Build({folder_ + "/none.gguf", "--out", pack_}).exit_code, 2);
  EXPECT_EQ(Verify({}).exit_code, 1);
  EXPECT_EQ(Verify({model_}).exit_code, 1);
  EXPECT_EQ(Verify({model_, "--fill", "--quick"}).exit_code, 1);
  EXPECT_EQ(Verify({model_, "--fill", "--slots=x"}).exit_code, 1);
  EXPECT_EQ(Verify({model_, "--fill", "--expert_source=x"}).exit_code, 1);
  EXPECT_EQ(Verify({pack_, "--lend=1"}).exit_code, 1);
  EXPECT_EQ(Verify({folder_}).exit_code, 2);
  // Nothing is written over the model.
  const std::string in_pack = folder_ + "/experts.bin";
  fs::rename(Copy(model_, "copy"), in_pack);
  EXPECT_EQ(Build({in_pack, "--out", folder_, "--layout"}).exit_code, 1);
}

TEST_F(PackToolsTest, AModelOfFiveShardsIsBuiltAndProven) {
  const std::string model =
      WriteSmallModel(folder_, "split", {.form = "separate", .layers = 6, .shards = 5});
  const ProgramResult built =
      Build({model, "--out", pack_, "--layout", "--threads=3", "--save_every=0", "--json"});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  EXPECT_EQ(json::parse(built.out)["shards"], 5);
  const ProgramResult verified = Verify({pack_, "--fill", "--device=cpu", "--swaps=5"});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

// ---- Builds that do not end ----

pid_t Start(const Strings& command) {
  const pid_t child = fork();
  if (child != 0) return child;
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  const int null = open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  execv(arguments[0], arguments.data());
  _exit(127);
}

// Two models take turns in one folder, so there always is an old pack.
TEST_F(PackToolsTest, KilledAtAnyMomentThereIsTheOldPackTheNewOneOrWordOfHowToGoOn) {
  const std::string models[] = {
      model_, WriteSmallModel(folder_, "second", {.form = "fused", .layers = 5, .experts = 9})};
  std::mt19937_64 random(TestSeed());
  const int64_t kills = TestSteps(300);
  int num_killed = 0, num_whole = 0, num_incomplete = 0;
  // In memory, where a sync takes no time: a kill does not lose what was written.
  const std::string pack =
      access("/dev/shm", W_OK) == 0 ? absl::StrCat("/dev/shm/pack_tools_test_", getpid()) : pack_;
  const absl::Cleanup remove = [&pack] { fs::remove_all(pack); };
  // How long a build takes here and now, with what it costs to start a program.
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(Build({models[1], "--out", pack, "--layout", "--save_every=0"}).exit_code, 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - start);
  for (int64_t i = 0; i < kills; ++i) {
    const Strings arguments = {models[i % 2], "--out", pack, "--layout", "--save_every=0"};
    const auto delay = std::chrono::microseconds(random() % whole.count());
    const pid_t child = Start(Command("pack_build", arguments));
    ASSERT_GT(child, 0);
    std::this_thread::sleep_for(delay);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    num_killed += WIFSIGNALED(status);
    const ProgramResult after = Verify({pack});
    if (after.exit_code == 0) {
      ++num_whole;
    } else {
      ASSERT_EQ(after.exit_code, 2) << after.out << after.err;
      ASSERT_THAT(after.err, HasSubstr("resume with: pack_build"));
      ++num_incomplete;
    }
    if (random() % 3 != 0) continue;
    const ProgramResult next = Build(arguments);
    ASSERT_EQ(next.exit_code, 0) << next.err;
    ASSERT_THAT(Entries(pack), ElementsAre("experts.bin", "manifest.json"));
    ASSERT_EQ(Verify({pack}).exit_code, 0);
    ++num_whole;
  }
  std::cout << num_killed << " of " << kills << " killed before the end, " << num_incomplete
            << " incomplete, " << num_whole << " whole" << std::endl;
  EXPECT_GT(num_killed, kills / 4);
}

TEST_F(PackToolsTest, AFullDiskIsFoundBeforeTheWorkBeginsAndTheOldPackStays) {
  const std::string disk = folder_ + "/disk";
  fs::create_directory(disk);
  if (mount("none", disk.c_str(), "tmpfs", 0, "size=8m") != 0) {
    GTEST_SKIP() << "no filesystem can be mounted here";
  }
  const std::string small = WriteSmallModel(folder_, "small", {.layers = 1, .experts = 2});
  const std::string pack = disk + "/pack";
  EXPECT_EQ(Build({small, "--out", pack, "--layout"}).exit_code, 0);
  const std::string large = Runfile("testdata/strata-tiny-q4_k_m.gguf").value();
  const ProgramResult full = Build({large, "--out", pack, "--layout"});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_THAT(full.err, HasSubstr("its disk has"));
  EXPECT_EQ(Verify({pack}).exit_code, 0);
  EXPECT_THAT(Entries(pack), ElementsAre("experts.bin", "manifest.json"));
  EXPECT_EQ(umount(disk.c_str()), 0);
}

TEST_F(PackToolsTest, ALimitOnTheSizeOfFilesIsAnErrorAndNoSignal) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit = {.rlim_cur = 20000, .rlim_max = 20000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const ProgramResult limited = Build({model_, "--out", pack_, "--layout"});
    _exit(limited.exit_code == 3 && absl::StrContains(limited.err, "File too large") ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(Verify({pack_}).err, HasSubstr("resume with: pack_build"));
  BuildPackHere();
  EXPECT_THAT(Entries(pack_), ElementsAre("experts.bin", "manifest.json"));
}

// The n-th call of each kind fails, for every n that there is.
TEST_F(PackToolsTest, WhateverCallFailsThePackIsOldOrNewOrSaysHowToGoOn) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer must be the first library";
#endif
  const std::string library = Runfile("strata/cache/pack/testing/libfailing_calls.so").value();
  int num_failures = 0;
  for (const char* call :
       {"pread", "write", "pwrite", "fsync", "fdatasync", "rename", "fallocate"}) {
    for (int n = 1;; ++n) {
      ASSERT_LT(n, 1000);
      const ProgramResult built = RunProgram(
          Command("pack_build",
                  {model_, "--out", pack_, "--layout", "--threads=1", "--save_every=3600"}),
          {.environment = {"LD_PRELOAD=" + library, absl::StrCat("FAIL_CALL=", call),
                           absl::StrCat("FAIL_NTH=", n)}});
      ASSERT_EQ(built.signal, 0) << call << " " << n;
      if (built.exit_code == 0) break;
      ++num_failures;
      ASSERT_EQ(built.exit_code, 2) << call << " " << n << ": " << built.err;
      ASSERT_THAT(built.err, HasSubstr("Input/output error")) << call << " " << n;
      const ProgramResult after = Verify({pack_});
      ASSERT_TRUE(after.exit_code == 0 || n == 1 ||
                  absl::StrContains(after.err, "resume with: pack_build"))
          << call << " " << n << ": " << after.out << after.err;
    }
    ASSERT_THAT(Entries(pack_), ElementsAre("experts.bin", "manifest.json")) << call;
  }
  std::cout << num_failures << " calls failed" << std::endl;
  EXPECT_GT(num_failures, 50);
}

TEST_F(PackToolsTest, AReadErrorIsOneFindingAndTheRestIsChecked) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer must be the first library";
#endif
  BuildPackHere();
  const std::string library = Runfile("strata/cache/pack/testing/libfailing_calls.so").value();
  for (const int n : {1, 2, 20, 50}) {
    const ProgramResult verified =
        RunProgram(Command("pack_verify", {pack_, "--threads=1", "--json"}),
                   {.environment = {"LD_PRELOAD=" + library, "FAIL_CALL=pread",
                                    absl::StrCat("FAIL_NTH=", n)}});
    EXPECT_EQ(verified.exit_code, 2) << verified.err;
    const json files = json::parse(verified.out)["files"];
    ASSERT_EQ(files["findings"].size(), 1u) << n;
    EXPECT_THAT(files["findings"][0]["problem"].get<std::string>(),
                HasSubstr("Input/output error"));
    EXPECT_EQ(files["not_checked"]["items"], 0);
  }
}

// ---- Files that change under a program ----

void DoSomethingTo(const std::string& path, int what) {
  switch (what) {
    case 0:
      fs::resize_file(path, fs::file_size(path) / 2);
      return;
    case 1:
      fs::remove(path);
      return;
    case 2:
      fs::rename(path, path + ".old");
      WriteFile(path, "another file");
      return;
    default:
      Flip(path, static_cast<int64_t>(fs::file_size(path)) - 100);
  }
}

TEST_F(PackToolsTest, FilesThatChangeUnderPackVerifyAreNamedOrKeepTheirBytes) {
  const std::string tiny = Runfile("testdata/strata-tiny-q4_k_m.gguf").value();
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 24; ++round) {
    const std::string model = Copy(tiny, "tiny.gguf");
    ASSERT_EQ(Build({model, "--out", pack_, "--layout"}).exit_code, 0);
    const pid_t child = Start(Command(
        "pack_verify", {pack_, "--threads=1", "--fill", "--device=cpu", "--lend=9", "--swaps=60"}));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40000));
    DoSomethingTo(round % 2 == 0 ? model : pack_ + "/experts.bin", round / 2 % 4);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status) << " in round " << round;
    EXPECT_THAT(WEXITSTATUS(status), AnyOf(0, 2)) << "round " << round;
    fs::remove_all(pack_);
  }
}

}  // namespace
}  // namespace strata
