#include "daemon/spec/resolve.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

namespace kab {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ResolveTest : public testing::Test {
  protected:
    ResolveTest() {
        auto made = TempDir::make("kab-resolve-");
        EXPECT_TRUE(made);
        if (!made) return;
        dir_.emplace(std::move(*made));
        for (const char* sub :
             {"spec/patches-here", "share/configs/kernel", "share/patches/linux-6.1/series", "linux"}) {
            EXPECT_TRUE(make_directories(root() / sub));
        }
        for (const char* file :
             {"spec/linux.tar.xz", "spec/own.config", "spec/bzImage", "share/patches/linux-6.1/a.patch",
              "share/configs/kernel/vm.config", "share/configs/kernel/own.config", "outside.patch"}) {
            EXPECT_TRUE(write_file(root() / file, "x"));
        }
        paths_.data = {root() / "share"};
        Arm arm;
        arm.name = "base";
        arm.kernel.source = {Source::Kind::tarball, "linux.tar.xz", "", {}};
        experiment_.arms = {arm};
    }

    fs::path root() const { return dir_->path(); }
    KernelSpec& kernel() { return experiment_.arms[0].kernel; }
    tl::expected<void, std::vector<Error>> run() { return resolve(experiment_, root() / "spec", paths_, places_); }
    std::string only_error() {
        const auto result = run();
        if (result) return "(none)";
        EXPECT_EQ(result.error().size(), 1U);
        EXPECT_EQ(result.error()[0].fault, Fault::spec);
        return result.error()[0].text();
    }

    std::optional<TempDir> dir_;
    Paths paths_;
    Places places_;
    Experiment experiment_;
};

TEST_F(ResolveTest, TheFilesDirectoryComesBeforeTheShareDirectories) {
    kernel().config = {"own.config", "vm.config"};
    kernel().patches = {"linux-6.1/a.patch", "linux-6.1/series", "patches/linux-6.1/a.patch"};
    const auto result = run();
    ASSERT_TRUE(result) << result.error()[0].text();
    EXPECT_EQ(kernel().source.location, root() / "spec/linux.tar.xz");
    EXPECT_THAT(kernel().config, ElementsAre(root() / "spec/own.config", root() / "share/configs/kernel/vm.config"));
    EXPECT_THAT(kernel().patches,
                ElementsAre(root() / "share/patches/linux-6.1/a.patch", root() / "share/patches/linux-6.1/series",
                            root() / "share/patches/linux-6.1/a.patch"));
    EXPECT_EQ(kernel().base, "tinyconfig");
}

TEST_F(ResolveTest, AbsolutePathsAreTakenAsTheyAre) {
    kernel().patches = {(root() / "outside.patch").string()};
    kernel().source = {Source::Kind::dir, (root() / "linux").string(), "", {}};
    kernel().base = (root() / "spec/own.config").string();
    ASSERT_TRUE(run());
    EXPECT_THAT(kernel().patches, ElementsAre(root() / "outside.patch"));
}

TEST_F(ResolveTest, UrlsAreNoPaths) {
    for (const char* url :
         {"https://example.org/linux.git", "git@example.org:linux.git", "ssh://host/linux", "file:///src/linux"}) {
        EXPECT_TRUE(is_git_url(url)) << url;
        kernel().source = {Source::Kind::git, url, "HEAD", {}};
        ASSERT_TRUE(run());
        EXPECT_EQ(kernel().source.location, url);
    }
    for (const char* path : {"linux", "/src/linux", "./a:b", "dir/a:b", ":x"}) EXPECT_FALSE(is_git_url(path)) << path;
    kernel().source = {Source::Kind::git, "no-such-repository", "HEAD", {}};
    EXPECT_THAT(only_error(), HasSubstr("git repository 'no-such-repository' does not exist"));
}

TEST_F(ResolveTest, AllMissingFilesAreToldAtOnceEachOnceWithItsPlace) {
    kernel().source.location = "linux.tar.gz";
    kernel().config = {"wm.config"};
    kernel().patches = {"gone.patch"};
    kernel().base = "tinyconfg";
    Arm other = experiment_.arms[0];
    other.name = "other";
    other.kernel.patches.push_back("gone-too.patch");
    experiment_.arms.push_back(other);
    places_ = {{"gone.patch", "e.yaml:7:3"}, {"wm.config", "e.yaml:4:12"}};
    const auto result = run();
    ASSERT_FALSE(result);
    std::vector<std::string> texts;
    for (const Error& error : result.error()) texts.push_back(error.text());
    EXPECT_THAT(
        texts,
        ElementsAre(HasSubstr("arm 'base': tarball 'linux.tar.gz' does not exist, did you mean 'linux.tar.xz'?"),
                    HasSubstr("base config (tinyconfig, defconfig or a file) 'tinyconfg' does not exist"),
                    HasSubstr("e.yaml:4:12: config fragment 'wm.config' does not exist, did you mean 'vm.config'?"),
                    HasSubstr("e.yaml:7:3: patch 'gone.patch' does not exist"),
                    HasSubstr("arm 'other': patch 'gone-too.patch' does not exist")));
    EXPECT_THAT(texts[3], HasSubstr("share/patches"));
}

TEST_F(ResolveTest, RelativePathsMayNotLeaveTheDirectory) {
    kernel().patches = {"../outside.patch"};
    EXPECT_THAT(only_error(),
                HasSubstr("patch '../outside.patch' leaves the directory of the file: write the absolute path"));
    kernel().patches = {"patches-here/../../outside.patch"};
    EXPECT_THAT(only_error(), HasSubstr("leaves the directory"));
    kernel().patches = {"patches-here/../own.config"};
    ASSERT_TRUE(run());
    EXPECT_THAT(kernel().patches, ElementsAre(root() / "spec/own.config"));
}

TEST_F(ResolveTest, DotsBehindALinkMeanWhatTheFileSystemMeans) {
    ASSERT_TRUE(make_directories(root() / "real/inner"));
    ASSERT_TRUE(write_file(root() / "real/own.config", "the link's parent"));
    fs::create_directory_symlink(root() / "real/inner", root() / "spec/link");
    kernel().config = {"link/../own.config"};
    kernel().base = (root() / "spec/link/../own.config").string();
    ASSERT_TRUE(run());
    EXPECT_THAT(kernel().config, ElementsAre(root() / "real/own.config")) << "not that beside the link";
    EXPECT_EQ(kernel().base, root() / "real/own.config");
}

TEST_F(ResolveTest, LinksKeepTheirNames) {
    fs::create_symlink("own.config", root() / "spec/current.config");
    kernel().config = {"./current.config"};
    ASSERT_TRUE(run());
    EXPECT_THAT(kernel().config, ElementsAre(root() / "spec/current.config"));
}

TEST_F(ResolveTest, OnlyFilesAndDirectoriesOfTheRightSort) {
    kernel().patches = {"/dev/null"};
    EXPECT_THAT(only_error(), HasSubstr("patch '/dev/null' must be a file or directory"));
    ASSERT_EQ(::mkfifo((root() / "spec/pipe").c_str(), 0600), 0);
    kernel().patches = {"pipe"};
    EXPECT_THAT(only_error(), HasSubstr("is a device, socket or pipe"));
    kernel().patches.clear();
    kernel().config = {"patches-here"};
    EXPECT_THAT(only_error(), HasSubstr("config fragment 'patches-here' must be a file"));
    kernel().config.clear();
    kernel().source = {Source::Kind::dir, "own.config", "", {}};
    EXPECT_THAT(only_error(), HasSubstr("source tree 'own.config' must be a directory"));
    kernel().source = {Source::Kind::image, "bzImage", "", "own.config"};
    EXPECT_THAT(only_error(), HasSubstr("directory of modules 'own.config' must be a directory"));
    kernel().source = {Source::Kind::image, "bzImage", "", "patches-here"};
    ASSERT_TRUE(run());
    EXPECT_EQ(kernel().source.modules, (root() / "spec/patches-here").string());
}

TEST_F(ResolveTest, DanglingLinksAndTildesAreExplained) {
    fs::create_symlink("nowhere", root() / "spec/link.patch");
    kernel().patches = {"link.patch"};
    EXPECT_THAT(only_error(), HasSubstr("'link.patch' does not exist"));
    kernel().patches = {"~/a.patch"};
    EXPECT_THAT(only_error(), HasSubstr("'~' is not expanded"));
}

}  // namespace
}  // namespace kab
