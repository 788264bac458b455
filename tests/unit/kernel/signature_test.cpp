#include "daemon/kernel/signature.h"

#include <elf.h>

#include <cstring>

#include "common/digest/sha256.h"
#include "mini_kernel.h"

namespace kab::kernel {
namespace {

class SignatureTest : public KernelTest {
  protected:
    /// A little "kernel" with all that must not count, built with `flags`.
    fs::path link(const std::string& name, const std::string& flags) const {
        put(path("k.c"), R"code(
const char linux_banner[] __attribute__((aligned(64))) = "Linux version 6.1.99 (" WHO ") #1 " WHEN "\n";
const char linux_proc_banner[] __attribute__((aligned(64))) = "%s version %s (" WHO ") %s\n";
const char configuration[] __attribute__((aligned(64))) = "IKCFG_ST" CONFIGURATION "IKCFG_ED";
struct { char sysname[65], nodename[65], release[65], version[65], machine[65], domainname[65]; } init_uts_ns =
    {"Linux", "(none)", "6.1.99", "#1 " WHEN, "x86_64", "(none)"};
    const char other[] = TEXT;
    int start(void) {
        return linux_banner[1] + linux_proc_banner[2] + configuration[3] + init_uts_ns.version[0] + other[ADD];
    }
)code");
        const std::string defaults =
            R"( -DWHO='"kab"' -DWHEN='"1970"' -DCONFIGURATION='"aaaa"' -DTEXT='"Linux version is"' -DADD=1 )";
        shell("gcc -w -O1 -g -fno-pie -no-pie -static -nostdlib -ffreestanding -Wl,--build-id -Wl,-e,start -o " + name +
                  defaults + flags + " k.c",
              directory_.path());
        return path(name);
    }
    std::string of(const fs::path& file) const {
        auto signature = code_signature(file);
        EXPECT_TRUE(signature) << signature.error().text();
        return signature.value_or("");
    }
    /// As arch/x86/boot lays it out: setup sectors, then the packed kernel somewhere in what follows.
    void write_bzimage(const fs::path& file, const std::string& payload) const {
        std::string image(std::size_t{5} * 512 + 100, '\0');
        image[0x1f1] = 4;
        image.replace(0x202, 4, "HdrS");
        image[0x206] = 0x0f;
        image[0x207] = 0x02;
        const auto length = static_cast<std::uint32_t>(payload.size());
        for (int i = 0; i < 4; ++i) image[0x24c + static_cast<std::size_t>(i)] = static_cast<char>(length >> (8 * i));
        image[0x248] = 100;
        put(file, image + payload + "what follows");
    }
};

TEST_F(SignatureTest, WhoWhenAndWhichConfigurationDoNotCount) {
    const std::string base = of(link("a", ""));
    EXPECT_EQ(of(link("b", R"(-UWHO -DWHO='"you"')")), base);
    EXPECT_EQ(of(link("c", R"(-UWHEN -DWHEN='"2026"')")), base);
    EXPECT_EQ(of(link("d", R"(-UCONFIGURATION -DCONFIGURATION='"bbbb"')")), base);
    EXPECT_EQ(of(link("e", "-Wl,--build-id=0x1234")), base);
}

TEST_F(SignatureTest, CodeAndDataCount) {
    const std::string base = of(link("a", ""));
    EXPECT_NE(of(link("b", "-UADD -DADD=2")), base);
    EXPECT_NE(of(link("c", R"(-UTEXT -DTEXT='"Linux version it"')")), base) << "this is no banner";
}

TEST_F(SignatureTest, StrippingDoesNotCount) {
    const std::string base = of(link("a", ""));
    shell("strip --strip-debug -o b a && strip -R .comment -o c a", directory_.path());
    EXPECT_EQ(of(path("b")), base);
    EXPECT_EQ(of(path("c")), base);
}

TEST_F(SignatureTest, ASystemNameAtTheVeryEndIsNoUtsname) {
    put(path("k.c"),
        "const char banner[] __attribute__((section(\".r\"))) = \"Linux version 6.1.99 (k)\";\n"
        "const char last[65] __attribute__((section(\".r\"))) = \"Linux\";\n"
        "int start(void) { return banner[1] + last[2]; }\n");
    shell("gcc -w -O1 -fno-pie -no-pie -static -nostdlib -ffreestanding -Wl,-e,start -o k k.c", directory_.path());
    EXPECT_NE(of(path("k")), "");
}

TEST_F(SignatureTest, ABzImageIsUnpacked) {
    const std::string base = of(link("vmlinux", ""));
    // The kernel's build appends the size to all but gzip, and relocations to the ELF file.
    shell(
        "cp vmlinux packed && echo relocations >>packed && gzip -9n <packed >p.gzip && "
        "xz --check=crc32 --x86 --lzma2=dict=32MiB <packed >p.xz && printf 'size' >>p.xz && "
        "bzip2 -9 <packed >p.bzip2 && printf 'size' >>p.bzip2",
        directory_.path());
    for (const char* method : {"gzip", "xz", "bzip2"}) {
        const auto packed = read_file(path(std::string("p.") + method));
        ASSERT_TRUE(packed);
        write_bzimage(path("bzImage"), *packed);
        EXPECT_EQ(of(path("bzImage")), base) << method;
    }
}

TEST_F(SignatureTest, ABzImageThatCannotBeUnpackedIsHashedWhole) {
    write_bzimage(path("bzImage"), "no compression that is known");
    EXPECT_EQ(of(path("bzImage")), *sha256_file(path("bzImage")));
}

TEST_F(SignatureTest, DamagedFilesAreRefusedWhereverTheyEnd) {
    const auto whole = read_file(link("a", ""));
    ASSERT_TRUE(whole);
    for (std::size_t length = 4; length < whole->size(); length += 97) {
        const auto signature = elf_signature(whole->substr(0, length));
        EXPECT_FALSE(signature) << length;
    }
    // Any byte of the header may be anything: no crash, whatever comes out.
    for (std::size_t at = 0; at < 64; ++at) {
        std::string changed = *whole;
        changed[at] = '\xff';
        (void)elf_signature(changed);
    }
    // Nor the section headers: one after the other is made one that is not in the file, and lies far outside.
    Elf64_Ehdr header;
    std::memcpy(&header, whole->data(), sizeof header);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        for (const unsigned type : {SHT_NOBITS, SHT_NULL}) {
            Elf64_Shdr section{};
            const auto at = header.e_shoff + std::uint64_t{i} * sizeof section;
            std::memcpy(&section, whole->data() + at, sizeof section);
            section.sh_type = type;
            section.sh_flags = SHF_ALLOC;
            section.sh_offset = section.sh_size = 1ULL << 60;
            std::string changed = *whole;
            std::memcpy(changed.data() + at, &section, sizeof section);
            EXPECT_EQ(elf_signature(changed).has_value(), i != header.e_shstrndx) << i;
        }
    }
    EXPECT_FALSE(unpack_bzimage("MZ"));
    EXPECT_FALSE(unpack_bzimage(""));
}

}  // namespace
}  // namespace kab::kernel
