#include <gmock/gmock.h>

#include "mini_kernel.h"

namespace kab::kernel {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class PatchTest : public KernelTest {
  protected:
    PatchTest() { put(path("0001-x.patch"), mini_patch); }

    Result<Frozen> with(const std::vector<std::string>& patches) const {
        Request wanted = request("dir", tree(""));
        wanted.patches = patches;
        return frozen(wanted);
    }
    Error error_with(const std::vector<std::string>& patches) const {
        auto result = with(patches);
        EXPECT_FALSE(result);
        return result ? Error{} : result.error();
    }
    /// As `git format-patch` of two commits gives it.
    void make_mailbox() const {
        make_repository();
        put(tree("fs/proc.c"), "#include \"ipc.h\"\nint proc_read(int size)\n{\n\treturn size;\n}\n");
        shell(
            "git apply ../0001-x.patch && git add ipc && git commit -qm 'ipc: count double' && "
            "git commit -qam 'proc: überall no limit' && git format-patch -q --cover-letter -o .. v1 && "
            "git format-patch --stdout --cover-letter v1 >../series.mbox && git checkout -q v1",
            tree(""));
    }
};

TEST_F(PatchTest, ADiffIsAppliedAndDescribed) {
    auto kernel = with({path("0001-x.patch")});
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_THAT(in_tree(*kernel, "ipc/namespace.c"), HasSubstr("users -= 2 * ns;"));
    ASSERT_EQ(kernel->patches.size(), 1U);
    EXPECT_EQ(kernel->patches[0].file, "0001-x.patch");
    EXPECT_EQ(kernel->patches[0].subject, "");
    EXPECT_EQ(kernel->patches[0].patch_id,
              shell("git patch-id --stable <" + path("0001-x.patch").string() + " | cut -c1-40"));
}

TEST_F(PatchTest, AMailboxGivesTheSameAsItsPatchesAndAsTheBranch) {
    make_mailbox();
    auto mailbox = with({path("series.mbox")});
    ASSERT_TRUE(mailbox) << mailbox.error().text();
    ASSERT_EQ(mailbox->patches.size(), 2U);
    EXPECT_EQ(mailbox->patches[0].subject, "ipc: count double");
    EXPECT_EQ(mailbox->patches[1].subject, "proc: überall no limit");
    EXPECT_EQ(mailbox->patches[1].file, "series.mbox (mail 3)");
    auto files = with({path("0001-ipc-count-double.patch"), path("0002-proc-berall-no-limit.patch")});
    ASSERT_TRUE(files) << files.error().text();
    EXPECT_EQ(files->key, mailbox->key);
    EXPECT_EQ(files->patches[1].patch_id, mailbox->patches[1].patch_id);
    Request branch = request("git", tree(""));
    branch.ref = "main";
    auto merged = frozen(branch);
    ASSERT_TRUE(merged) << merged.error().text();
    EXPECT_EQ(merged->key, mailbox->key);
}

TEST_F(PatchTest, ASeriesIsReadLikeQuiltDoes) {
    put(path("patches/series"), "# first\n\n0001-x.patch   # a comment\nsub/two.patch -p0\n");
    put(path("patches/0001-x.patch"), mini_patch);
    put(path("patches/sub/two.patch"),
        "Description: no limit\n--- fs/proc.c\n+++ fs/proc.c\n@@ -2,4 +2,4 @@\n int proc_read(int size)\n {\n"
        "-\treturn size + IPC_LIMIT;\n+\treturn size;\n }\n");
    auto kernel = with({path("patches")});
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_THAT(in_tree(*kernel, "fs/proc.c"), HasSubstr("return size;"));
    EXPECT_EQ(kernel->patches[1].subject, "no limit");
}

TEST_F(PatchTest, WhatIsWrongWithASeriesIsNamedByLine) {
    const std::string series = path("patches/series");
    put(series, "# nothing\n");
    EXPECT_EQ(error_with({path("patches")}).message, "names no patch");
    put(series, "\nmissing.patch\n");
    EXPECT_EQ(error_with({path("patches")}).text(), series + ":2: no such patch: missing.patch");
    put(series, "../0001-x.patch\n");
    EXPECT_EQ(error_with({path("patches")}).text(), series + ":1: ../0001-x.patch lies outside");
    put(series, "a.patch -p\n");
    EXPECT_THAT(error_with({path("patches")}).text(), StartsWith(series + ":1: '-p' is not understood"));
    fs::remove(series);
    EXPECT_EQ(error_with({path("patches")}).message, "holds no file 'series'");
}

TEST_F(PatchTest, AHunkThatDoesNotApplyIsNamed) {
    put(tree("ipc/namespace.c"), "int something_else;\n");
    const Error error = error_with({path("0001-x.patch")});
    EXPECT_EQ(error.fault, Fault::spec);
    EXPECT_EQ(error.text(), "0001-x.patch: hunk at ipc/namespace.c:4 does not apply to linux-mini 6.1.99");
}

TEST_F(PatchTest, FuzzIsNotAccepted) {
    shell("sed -i 's/drop a reference/drop one/' ipc/namespace.c", tree(""));
    shell("patch --dry-run -p1 <../0001-x.patch", tree(""));  // with fuzz it would apply
    EXPECT_THAT(error_with({path("0001-x.patch")}).message, StartsWith("hunk at ipc/namespace.c:4 does not apply"));
}

TEST_F(PatchTest, APatchAppliedTwiceSaysSo) {
    EXPECT_THAT(error_with({path("0001-x.patch"), path("0001-x.patch")}).message,
                HasSubstr("with the patches before it (it is applied there already)"));
}

TEST_F(PatchTest, APatchForAnotherTreeNamesTheMissingFile) {
    shell("sed -i s,ipc/namespace.c,net/socket.c, 0001-x.patch", directory_.path());
    EXPECT_EQ(error_with({path("0001-x.patch")}).text(),
              "0001-x.patch: changes net/socket.c, which linux-mini 6.1.99 does not have");
}

TEST_F(PatchTest, CrlfLineEndingsAreDiagnosed) {
    shell("sed -i 's/$/\\r/' 0001-x.patch", directory_.path());
    EXPECT_EQ(error_with({path("0001-x.patch")}).text(),
              path("0001-x.patch").string() + ":1: has CRLF line endings; convert with dos2unix");
}

/// As kabd hands files over: copies in a directory of its own, each under its own path.
TEST_F(PatchTest, ErrorsNameTheUsersFileNotTheCopy) {
    const fs::path copies = path("state/inputs/01ABC");
    Request wanted = request("dir", tree(""));
    wanted.root = copies;
    wanted.config = {copies / "home/u/vm.config"};
    wanted.patches = {copies / "home/u/crlf.patch"};
    const auto message = [&] {
        auto result = frozen(wanted);
        EXPECT_FALSE(result);
        return result ? "" : result.error().text();
    };
    put(wanted.config[0], "CONFIG_PVH=y\n");
    put(wanted.patches[0], std::string(mini_patch) + "@@ -1 +1 @@\r\n");
    EXPECT_EQ(message(), "/home/u/crlf.patch:12: has CRLF line endings; convert with dos2unix");
    wanted.patches = {copies / "home/u/patches"};
    put(copies / "home/u/patches/series", "../x.patch\n");
    EXPECT_EQ(message(), "/home/u/patches/series:1: ../x.patch lies outside");
    wanted.patches = {copies / "home/u/gone.patch"};
    EXPECT_EQ(message(), "/home/u/gone.patch: no such patch");
    wanted.patches.clear();
    put(wanted.config[0], "CONFIG_PVH=y\nnonsense\n");
    EXPECT_THAT(message(), StartsWith("/home/u/vm.config:2: 'nonsense'"));
    put(wanted.config[0], "CONFIG_PVH=y\n");
    wanted.base = copies / "home/u/base";
    put(wanted.base, "true\n");
    EXPECT_THAT(message(), StartsWith("/home/u/base:1: 'true'"));
    put(wanted.base, "CONFIG_64BIT=y\n");
    const auto kernel = frozen(wanted);
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_EQ(kernel->fragments, "# kab fragment: /home/u/vm.config\nCONFIG_PVH=y\n");
    EXPECT_EQ(kernel->base, "# kab fragment: /home/u/base\nCONFIG_64BIT=y\n");
}

TEST_F(PatchTest, CrlfInAnEncodedMailIsDiagnosed) {
    const std::string mail =
        "From: A <a@example.org>\nSubject: [PATCH] ipc: count double\nMIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n";
    put(path("body"), std::string("Why.\n---\n") + mini_patch);
    put(path("mail.eml"), mail + shell("base64 <body", directory_.path()) + "\n");
    EXPECT_TRUE(with({path("mail.eml")}));
    put(path("mail.eml"), mail + shell("sed 's/$/\\r/' body | base64", directory_.path()) + "\n");
    EXPECT_EQ(error_with({path("mail.eml")}).text(),
              path("mail.eml").string() + ": mail 1 has CRLF line endings; convert with dos2unix");
}

TEST_F(PatchTest, APatchWithoutADiffIsRefused) {
    put(path("empty.patch"), "");
    EXPECT_EQ(error_with({path("empty.patch")}).text(), path("empty.patch").string() + ": holds no diff");
    put(path("cover.mbox"),
        "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
        "From: A <a@example.org>\nSubject: [PATCH 0/2] cover\n\nonly words\n");
    EXPECT_EQ(error_with({path("cover.mbox")}).message, "holds no diff");
    EXPECT_EQ(error_with({path("absent.patch")}).fault, Fault::not_found);
}

TEST_F(PatchTest, ACutOffPatchIsRefused) {
    put(path("cut.patch"), std::string(mini_patch).substr(0, 150));
    EXPECT_THAT(error_with({path("cut.patch")}).text(), StartsWith("cut.patch: is damaged or cut off"));
}

TEST_F(PatchTest, APatchThatReachesOutsideIsRefused) {
    put(path("outside.patch"), "--- /dev/null\n+++ b/../../escape\n@@ -0,0 +1 @@\n+x\n");
    EXPECT_EQ(error_with({path("outside.patch")}).fault, Fault::spec);
}

TEST_F(PatchTest, AQuotedPrintableMailIsDecoded) {
    put(path("mail.eml"), std::string("From: A <a@example.org>\nSubject: [PATCH v2] ipc: count double\n"
                                      "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
                                      "Content-Transfer-Encoding: quoted-printable\n\nWhy =C3=BC.\n---\n") +
                              R"(diff --git a/ipc/namespace.c b/ipc/namespace.c
--- a/ipc/namespace.c
+++ b/ipc/namespace.c
@@ -4,6 +4,6 @@
 /* drop a reference */
 int put_ipc_ns(int ns)
 {
-	users -=3D ns;
+	users -=3D 2 * ns;
 	return users;
 }
)");
    auto kernel = with({path("mail.eml")});
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_EQ(kernel->patches[0].subject, "ipc: count double");
    EXPECT_THAT(in_tree(*kernel, "ipc/namespace.c"), HasSubstr("users -= 2 * ns;"));
}

}  // namespace
}  // namespace kab::kernel
