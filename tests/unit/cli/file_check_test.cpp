#include "cli/file_check.h"

#include <gmock/gmock.h>

#include "cli/spec_file.h"
#include "common/files.h"

namespace kab::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const char* const diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

class FileCheckTest : public testing::Test {
  protected:
    FileCheckTest() : directory_(*TempDir::make("kab-file-check-")) {
        experiment_.arms.resize(2);
        for (auto& arm : experiment_.arms) arm.kernel.source = {Source::Kind::dir, "/linux", "", {}};
    }
    std::string put(const std::string& name, const std::string& text) const {
        const fs::path path = directory_.path() / name;
        EXPECT_TRUE(make_directories(path.parent_path()));
        EXPECT_TRUE(write_file(path, text));
        return path;
    }
    KernelSpec& kernel() { return experiment_.arms[0].kernel; }
    std::vector<std::string> errors() const {
        std::vector<std::string> texts;
        for (const auto& error : check_files(experiment_)) {
            EXPECT_EQ(error.fault, Fault::spec);
            texts.push_back(error.text());
        }
        return texts;
    }

    TempDir directory_;
    Experiment experiment_;
};

TEST_F(FileCheckTest, WhatIsRightIsPassed) {
    kernel().base = put("base", "# a base\nCONFIG_X=\"text\"\n");
    kernel().config = {put("vm.config", "CONFIG_PVH=y\n# CONFIG_Y is not set\n")};
    put("patches/series", "# first\nsub/../a.patch -p0\n");
    put("patches/a.patch", diff);
    kernel().patches = {put("x.patch", diff), directory_.path() / "patches",
                        put("mail", "From: A <a@b>\nSubject: x\nContent-Transfer-Encoding: base64\n\nLS0tIGEveAo=\n")};
    EXPECT_THAT(errors(), ElementsAre());
}

TEST_F(FileCheckTest, EveryWrongFileIsToldOnce) {
    const std::string empty = put("empty.patch", ""), crlf = put("crlf.patch", std::string(diff) + "@@ -5 +5 @@\r\n");
    const std::string fragment = put("vm.config", "CONFIG_PVH=y\nPVH=y\n");
    kernel().base = "/bin/true";
    kernel().config = {fragment};
    kernel().patches = {empty, crlf, "not-found.patch"};
    experiment_.arms[1].kernel.config = {fragment};
    experiment_.arms[1].kernel.patches = {empty};
    EXPECT_THAT(errors(),
                ElementsAre(StartsWith("/bin/true:1: "), StartsWith(fragment + ":2: 'PVH=y' is no configuration line"),
                            empty + ": holds no diff", StartsWith(crlf + ":6: has CRLF line endings")));
}

TEST_F(FileCheckTest, ASeriesIsReadToItsPatches) {
    const fs::path directory = directory_.path() / "patches";
    fs::create_directory(directory);
    kernel().patches = {directory};
    EXPECT_THAT(errors(), ElementsAre(HasSubstr("needs a file 'series'")));
    const std::string series = put("patches/series", "../x.patch\n");
    EXPECT_THAT(errors(), ElementsAre(series + ":1: ../x.patch lies outside"));
    put("patches/series", "\na.patch\n");
    EXPECT_THAT(errors(), ElementsAre(series + ":2: there is no patch a.patch"));
    const std::string patch = put("patches/a.patch", "words\n");
    EXPECT_THAT(errors(), ElementsAre(patch + ": holds no diff"));
}

TEST_F(FileCheckTest, AnImageMustBeAKernel) {
    kernel().source = {Source::Kind::image, put("vmlinuz", "no kernel"), "", {}};
    EXPECT_THAT(errors(), ElementsAre(HasSubstr("is neither a bzImage nor an ELF file")));
}

TEST_F(FileCheckTest, MissingFilesAreToldBesideOtherErrorsInTheOrderOfTheFile) {
    put("linux/Makefile", "");
    const std::string fragment = put("bad.config", "nonsense\n");
    const std::string file = put("e.yaml",
                                 "experiment: x\nkernel: {source: {dir: linux}, config: [bad.config]}\n"
                                 "arms:\n  base: {patchs: []}\n  new: {patches: [gone.patch]}\n"
                                 "workloads: [{workload: ipcns-exit, iterations: -5}]\n");
    testing::internal::CaptureStderr();
    EXPECT_FALSE(load_spec(Paths{}, file));
    const std::string said = testing::internal::GetCapturedStderr();
    std::vector<std::size_t> at;
    for (const std::string& text :
         {file + ":4:10: unknown key 'patchs'", file + ":5:19: patch 'gone.patch' does not exist",
          file + ":6:", fragment + ":1: 'nonsense'", std::string("kab: 4 errors")})
        at.push_back(said.find(text));
    EXPECT_TRUE(std::is_sorted(at.begin(), at.end()) && at.back() != std::string::npos) << said;
}

}  // namespace
}  // namespace kab::cli
