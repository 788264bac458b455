#include "agent/host/qemu/boot_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "agent/host/qemu/probe_guest.h"
#include "common/digest/sha256.h"

namespace kab::qemu {
namespace {

/// Path -> content of the files of an initramfs.
std::map<std::string, std::string> content_of(const fs::path& initramfs) {
    std::map<std::string, std::string> found;
    archive* reader = archive_read_new();
    archive_read_support_format_cpio(reader);
    EXPECT_EQ(archive_read_open_filename(reader, initramfs.c_str(), 10240), ARCHIVE_OK);
    archive_entry* entry = nullptr;
    while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
        std::string content(static_cast<std::size_t>(archive_entry_size(entry)), '\0');
        archive_read_data(reader, content.data(), content.size());
        found[archive_entry_pathname(entry)] = content;
    }
    archive_read_free(reader);
    return found;
}

/// A kab-agent and a shell of its own, which a test replaces between two boots.
class BootFilesTest : public testing::Test {
  protected:
    void SetUp() override {
        auto made = TempDir::make("kab-boot-files-test-");
        ASSERT_TRUE(made) << made.error().text();
        directory_ = std::make_unique<TempDir>(std::move(*made));
        put("kernel", probe_guest());
        put("busybox", shell_);
        ::setenv("KAB_LIBEXEC_DIR", directory_->path().c_str(), 1);
        ::setenv("KAB_BUSYBOX", (directory_->path() / "busybox").c_str(), 1);
        ::setenv("TMPDIR", directory_->path().c_str(), 1);
    }
    void TearDown() override {
        for (const char* name : {"KAB_LIBEXEC_DIR", "KAB_BUSYBOX", "TMPDIR"}) ::unsetenv(name);
    }
    void put(const char* name, const std::string& bytes) const {
        EXPECT_TRUE(write_file(directory_->path() / name, bytes));
    }
    PreparedBoot prepare(const std::string& workload) const {
        Accelerators accelerators;
        accelerators.emulator = {"/usr/bin/qemu-system-x86_64", "QEMU emulator version 7.2.22"};
        accelerators.kvm.reason = "none";
        msg::BootRequest request;
        request.kernel = (directory_->path() / "kernel").string();
        request.memory_bytes = 64 << 20;
        request.plan.runs.resize(1);
        request.plan.runs[0].seq = 1;
        request.plan.runs[0].workload = workload;
        auto prepared = prepare_boot(request, accelerators);
        EXPECT_TRUE(prepared) << prepared.error().text();
        return std::move(*prepared);
    }

    const std::string shell_ = probe_guest();  // a static program, as far as anybody looks
    std::unique_ptr<TempDir> directory_;
};

TEST_F(BootFilesTest, tells_what_was_packed_though_it_was_replaced_between_two_boots) {
    std::string before;
    for (const std::string agent : {"the agent", "the agent that was installed meanwhile"}) {
        put("kab-agent", agent);
        const auto prepared = prepare("ipcns-exit");
        EXPECT_EQ(content_of(prepared.files.initramfs)["init"], agent);
        EXPECT_EQ(prepared.programs.agent, sha256_hex(agent));
        EXPECT_NE(prepared.programs.agent, before);
        EXPECT_EQ(prepared.programs.shell, "") << "nothing asks for one";
        before = prepared.programs.agent;
    }
}

TEST_F(BootFilesTest, tells_the_shell_too_where_a_workload_needs_one) {
    put("kab-agent", "the agent");
    for (const std::string& shell : {shell_, shell_ + "upgraded"}) {
        put("busybox", shell);
        const auto prepared = prepare("shell");
        EXPECT_EQ(content_of(prepared.files.initramfs)["bin/busybox"], shell);
        EXPECT_EQ(prepared.programs.shell, sha256_hex(shell));
        EXPECT_EQ(prepared.programs.agent, sha256_hex("the agent"));
    }
}

}  // namespace
}  // namespace kab::qemu
