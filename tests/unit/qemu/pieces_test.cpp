// The smaller pure parts: pinning, QMP, the probe's guest, the initramfs and its modules.
#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>
#include <map>

#include "agent/host/qemu/busybox.h"
#include "agent/host/qemu/initramfs.h"
#include "agent/host/qemu/pinning.h"
#include "agent/host/qemu/probe_guest.h"
#include "agent/host/qemu/qmp.h"
#include "agent/host/qemu/tsc.h"
#include "common/kernel_image.h"

namespace kab::qemu {
namespace {

class Folder : public testing::Test {
  protected:
    void SetUp() override {
        auto made = TempDir::make("kab-qemu-test-");
        ASSERT_TRUE(made) << made.error().text();
        directory_ = std::make_unique<TempDir>(std::move(*made));
    }
    fs::path put(const fs::path& name, std::string_view bytes) const {
        const auto path = directory_->path() / name;
        EXPECT_TRUE(make_directories(path.parent_path()));
        EXPECT_TRUE(write_file(path, bytes));
        return path;
    }
    std::unique_ptr<TempDir> directory_;
};

using KernelImageTest = Folder;
using ModulesTest = Folder;
using InitramfsTest = Folder;

TEST(Pinning, cpus_must_suffice_for_the_host_too) {
    const std::vector<HostCpu> four = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
    EXPECT_EQ(choose_cpus(four, 4), std::nullopt);
    EXPECT_EQ(choose_cpus(four, 0), std::nullopt);
    EXPECT_EQ(choose_cpus(four, 2), (std::vector<int>{2, 3}));
    EXPECT_EQ(choose_cpus({}, 1), std::nullopt);
}

TEST(Pinning, whole_cores_before_siblings) {
    const std::vector<HostCpu> threads = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 0}, {5, 1}, {6, 2}, {7, 3}};
    EXPECT_EQ(choose_cpus(threads, 2), (std::vector<int>{6, 7}));
    EXPECT_EQ(choose_cpus(threads, 4), (std::vector<int>{4, 5, 6, 7}));
    const auto five = choose_cpus(threads, 5);
    ASSERT_TRUE(five);
    EXPECT_EQ(five->front(), 3);
}

TEST(Qmp, replies_find_their_question) {
    std::string sent;
    std::string event;
    Qmp qmp([&](std::string bytes) { sent += bytes; }, [&](const std::string& name, const Json&) { event = name; });
    std::vector<int> threads;
    qmp.query_vcpu_threads([&](const std::vector<int>& ids) { threads = ids; });
    EXPECT_EQ(sent, "{\"execute\":\"qmp_capabilities\",\"id\":1}\n{\"execute\":\"query-cpus-fast\",\"id\":2}\n");
    qmp.receive(
        "{\"QMP\": {\"version\": {}}}\r\n{\"return\": {}, \"id\": 1}\r\n{\"event\": \"RESUME\"}\r\n{\"return\": "
        "[{\"thr");
    EXPECT_EQ(event, "RESUME");
    EXPECT_TRUE(threads.empty());
    qmp.receive("ead-id\": 41}, {\"thread-id\": 42}], \"id\": 2}\r\nnonsense\n{\"id\": 99, \"return\": 1}\n");
    EXPECT_EQ(threads, (std::vector<int>{41, 42}));
}

TEST(Qmp, a_refusal_is_an_answer_too) {
    std::string sent;
    Qmp qmp([&](std::string bytes) { sent += bytes; }, [](const std::string&, const Json&) {});
    int answers = 0;
    qmp.query_vcpu_threads([&](const std::vector<int>& ids) {
        EXPECT_TRUE(ids.empty());
        ++answers;
        qmp.resume();
    });
    qmp.receive("{\"id\": 2, \"error\": {\"class\": \"CommandNotFound\"}}\r\n");
    EXPECT_EQ(answers, 1) << "or the machine would never start";
    EXPECT_TRUE(sent.ends_with("{\"execute\":\"cont\",\"id\":3}\n")) << sent;
}

TEST(Tsc, has_a_rate) {
    EXPECT_GT(measure_tsc_khz(), 100'000);
    EXPECT_EQ(measure_tsc_khz(), measure_tsc_khz());
}

TEST_F(KernelImageTest, kinds_are_told_apart) {
    auto image = inspect_kernel(put("probe", probe_guest()));
    ASSERT_TRUE(image) << image.error().text();
    EXPECT_EQ(image->kind, KernelImage::Kind::vmlinux);
    EXPECT_EQ(*machine_for(*image, "auto"), "q35") << "it tells of no virtio-mmio";
    std::string bzimage(4096, '\0');
    bzimage[0x1FE] = '\x55';
    bzimage[0x1FF] = '\xAA';
    std::memcpy(bzimage.data() + 0x202, "HdrS", 4);
    bzimage[0x20E] = '\x10';
    bzimage[0x20F] = '\x02';
    bzimage[0x236] = 1;
    std::memcpy(bzimage.data() + 0x410, "6.1.0-57-amd64 (debian)", 23);
    image = inspect_kernel(put("bzImage", bzimage));
    ASSERT_TRUE(image) << image.error().text();
    EXPECT_EQ(image->kind, KernelImage::Kind::bzimage);
    EXPECT_EQ(image->release, "6.1.0-57-amd64");
    bzimage[0x236] = 0;
    EXPECT_FALSE(inspect_kernel(put("bzImage32", bzimage)));
}

TEST_F(KernelImageTest, what_is_no_kernel_is_named) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"text", "neither a bzImage nor an ELF file"},
        {"", "is empty"},
        {std::string(ELFMAG, 4), "not for x86-64"},
        {probe_guest().substr(0, 200), "damaged"},
    };
    int number = 0;
    for (const auto& [bytes, expected] : cases) {
        const auto image = inspect_kernel(put("k" + std::to_string(number++), bytes));
        ASSERT_FALSE(image);
        EXPECT_EQ(image.error().fault, Fault::spec);
        EXPECT_NE(image.error().message.find(expected), std::string::npos) << image.error().message;
    }
    EXPECT_EQ(inspect_kernel(directory_->path() / "absent").error().fault, Fault::not_found);
    EXPECT_EQ(inspect_kernel(directory_->path()).error().fault, Fault::spec);
    std::string without_note = probe_guest();
    without_note.replace(without_note.find("Xen"), 3, "Xxx");
    EXPECT_NE(inspect_kernel(put("no-pvh", without_note)).error().message.find("CONFIG_PVH"), std::string::npos);
}

/// An ELF file with a .modinfo section that holds "depends=`depends`".
std::string module_with(const std::string& depends) {
    const std::string info = std::string("license=GPL\0", 12) + "depends=" + depends + '\0';
    const std::string names = std::string("\0.modinfo\0.shstrtab\0", 20);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = sizeof header;
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    Elf64_Shdr sections[3] = {};
    sections[1].sh_name = 1;
    sections[1].sh_offset = sizeof header + sizeof sections;
    sections[1].sh_size = info.size();
    sections[2].sh_name = 10;
    sections[2].sh_offset = sections[1].sh_offset + info.size();
    sections[2].sh_size = names.size();
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
    return bytes + info + names;
}

TEST_F(ModulesTest, what_is_needed_comes_first) {
    put("lib/modules/6.1/kernel/drivers/virtio/virtio.ko", module_with(""));
    put("lib/modules/6.1/kernel/drivers/virtio/virtio-ring.ko", module_with(""));
    put("lib/modules/6.1/kernel/drivers/virtio/virtio_pci.ko", module_with("virtio_ring,virtio,legacy"));
    put("lib/modules/6.1/kernel/drivers/char/virtio_console.ko", module_with("virtio-ring,virtio"));
    put("lib/modules/6.1/modules.builtin", "kernel/x/legacy.ko\n");
    for (const auto* place : {"", "lib/modules", "lib/modules/6.1"}) {
        const auto modules = virtio_modules(directory_->path() / place);
        ASSERT_TRUE(modules) << modules.error().text();
        std::vector<std::string> names;
        for (const auto& module : *modules) names.push_back(module.name);
        EXPECT_EQ(names,
                  (std::vector<std::string>{"virtio_ring.ko", "virtio.ko", "virtio_pci.ko", "virtio_console.ko"}));
    }
    put("lib/modules/6.2/kernel/x.ko", module_with(""));
    const auto two = virtio_modules(directory_->path());
    ASSERT_FALSE(two);
    EXPECT_NE(two.error().message.find("2 kernels"), std::string::npos) << two.error().text();
}

TEST_F(ModulesTest, what_is_missing_is_named) {
    EXPECT_EQ(virtio_modules(directory_->path()).error().fault, Fault::spec);
    EXPECT_EQ(virtio_modules("/no/such/place").error().fault, Fault::not_found);
    put("kernel/virtio_pci.ko", module_with("virtio"));
    const auto lacking = virtio_modules(directory_->path());
    ASSERT_FALSE(lacking);
    EXPECT_EQ(lacking.error().message, "modules: virtio is missing, wanted by virtio_pci");
    put("kernel/virtio.ko", "not a module");
    EXPECT_FALSE(virtio_modules(directory_->path()));
}

TEST_F(InitramfsTest, holds_what_the_agent_needs) {
    const auto agent = put("agent", "the agent");
    const auto path = directory_->path() / "initramfs";
    ASSERT_TRUE(write_initramfs(path, agent, {{"b.ko", "BB"}, {"a.ko", "A"}}));
    std::map<std::string, std::pair<mode_t, std::string>> found;
    archive* reader = archive_read_new();
    archive_read_support_format_cpio(reader);
    ASSERT_EQ(archive_read_open_filename(reader, path.c_str(), 10240), ARCHIVE_OK);
    archive_entry* entry = nullptr;
    while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
        std::string content(static_cast<std::size_t>(archive_entry_size(entry)), '\0');
        archive_read_data(reader, content.data(), content.size());
        found[archive_entry_pathname(entry)] = {archive_entry_mode(entry), content};
        if (std::string(archive_entry_pathname(entry)) == "dev/console") {
            EXPECT_EQ(archive_entry_rdev(entry), makedev(5, 1));
        }
    }
    archive_read_free(reader);
    EXPECT_EQ(found["init"].second, "the agent");
    EXPECT_EQ(found["init"].first, static_cast<mode_t>(S_IFREG | 0755));
    EXPECT_EQ(found["kab/modules/load"].second, "b.ko\na.ko\n") << "the order given";
    EXPECT_EQ(found["kab/modules/b.ko"].second, "BB");
    EXPECT_TRUE(S_ISCHR(found["dev/console"].first));
    for (const auto* name : {"dev", "proc", "sys", "tmp", "kab", "kab/modules"})
        EXPECT_TRUE(S_ISDIR(found[name].first));
    const auto once = read_file(path);
    ASSERT_TRUE(write_initramfs(path, agent, {{"b.ko", "BB"}, {"a.ko", "A"}}));
    EXPECT_EQ(*once, *read_file(path)) << "equal input, equal bytes";
    EXPECT_FALSE(found.contains("kab/plan"));
    ASSERT_TRUE(write_initramfs(path, agent, {}, "the plan of an exact boot"));
    EXPECT_NE(read_file(path)->find("kab/plan"), std::string::npos);
    EXPECT_NE(read_file(path)->find("the plan of an exact boot"), std::string::npos);
    EXPECT_EQ(found.count("bin"), 0U) << "a shell only where one is asked for";
    EXPECT_FALSE(write_initramfs(path, directory_->path() / "absent", {}));
    EXPECT_FALSE(write_initramfs("/no/such/place/initramfs", agent, {}));
}

TEST_F(InitramfsTest, has_a_shell_and_its_tools_where_asked_for) {
    const auto agent = put("agent", "the agent");
    const auto path = directory_->path() / "initramfs";
    ASSERT_TRUE(write_initramfs(path, agent, {}, {}, put("busybox", "a shell")));
    std::map<std::string, std::string> links;
    archive* reader = archive_read_new();
    archive_read_support_format_cpio(reader);
    ASSERT_EQ(archive_read_open_filename(reader, path.c_str(), 10240), ARCHIVE_OK);
    archive_entry* entry = nullptr;
    std::string busybox;
    while (archive_read_next_header(reader, &entry) == ARCHIVE_OK) {
        const std::string name = archive_entry_pathname(entry);
        if (const char* target = archive_entry_symlink(entry)) links[name] = target;
        if (name != "bin/busybox") continue;
        busybox.resize(static_cast<std::size_t>(archive_entry_size(entry)));
        archive_read_data(reader, busybox.data(), busybox.size());
        EXPECT_EQ(archive_entry_mode(entry), static_cast<mode_t>(S_IFREG | 0755));
    }
    archive_read_free(reader);
    EXPECT_EQ(busybox, "a shell");
    for (const auto* tool : {"sh", "sort", "od", "grep", "tee", "wc", "rm"})
        EXPECT_EQ(links[std::string("bin/") + tool], "busybox");
    EXPECT_FALSE(write_initramfs(path, agent, {}, {}, directory_->path() / "absent"));
}

/// $KAB_BUSYBOX for the life of a test.
class Busybox {
  public:
    explicit Busybox(const fs::path& path) { ::setenv("KAB_BUSYBOX", path.c_str(), 1); }
    ~Busybox() { ::unsetenv("KAB_BUSYBOX"); }
};

TEST_F(InitramfsTest, a_shell_that_cannot_be_used_names_the_package) {
    const auto expect_refused = [](const fs::path& path, const std::string& why) {
        const Busybox named(path);
        const auto found = find_busybox();
        ASSERT_FALSE(found) << path;
        EXPECT_EQ(found.error().fault, Fault::infra);
        EXPECT_NE(found.error().text().find(why), std::string::npos) << found.error().text();
        EXPECT_NE(found.error().text().find("install the package busybox-static"), std::string::npos);
    };
    expect_refused(directory_->path() / "absent", "No such file");
    expect_refused(put("text", "#!/bin/sh"), "not a static program");
    expect_refused("/proc/self/exe", "not a static program");  // needs libraries
    const Busybox named(std::string(KAB_BINARY_DIR) + "/bin/kab-agent");
    EXPECT_TRUE(find_busybox()) << "static";
}

}  // namespace
}  // namespace kab::qemu
