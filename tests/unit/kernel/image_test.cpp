#include <gmock/gmock.h>

#include "common/digest/sha256.h"
#include "mini_kernel.h"

namespace kab::kernel {
namespace {

using ::testing::HasSubstr;

class ImageTest : public KernelTest {
  protected:
    ImageTest() {
        std::string image(4096, '\0');
        image.replace(0x202, 4, "HdrS");
        image[0x1f1] = 4;
        image.replace(0x1fe, 2, "\x55\xaa");
        image[0x206] = 0x0f;
        image[0x207] = 0x02;
        image[0x236] = 1;  // for x86-64
        put(path("bzImage"), image);
        put(path("6.1/kernel/drivers/virtio.ko"), "module");
        put(path("6.1/modules.builtin"), "kernel/fs/ext4.ko\n");
        put(path("6.1/build/Makefile"), "no module\n");
    }
    Request wanted() const {
        Request result = request("image", path("bzImage"));
        result.modules = path("6.1");
        return result;
    }
    Frozen frozen_image() const {
        auto result = frozen(wanted());
        EXPECT_TRUE(result) << result.error().text();
        return result.value_or(Frozen{});
    }
};

TEST_F(ImageTest, ModulesAreCopiedWhenTheyAreFrozen) {
    const Frozen kernel = frozen_image();
    ASSERT_FALSE(kernel.modules.empty());
    EXPECT_EQ(fs::path(kernel.modules).parent_path(), paths_.cache / "modules");
    fs::remove_all(path("6.1"));
    fs::remove(path("bzImage"));
    const auto result = build(kernel, paths_, {});
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_EQ(shell("find . -type f | sort", kernel.modules), "./kernel/drivers/virtio.ko\n./modules.builtin");
    EXPECT_EQ(read_file(fs::path(kernel.modules) / "kernel/drivers/virtio.ko").value_or(""), "module");
}

TEST_F(ImageTest, LinkedModulesCountAsWhatTheyLeadTo) {
    put(path("elsewhere"), "one");
    fs::create_symlink(path("elsewhere"), path("6.1/kernel/linked.ko"));
    const Frozen first = frozen_image();
    ASSERT_FALSE(first.modules.empty());
    EXPECT_FALSE(fs::is_symlink(fs::path(first.modules) / "kernel/linked.ko"));
    put(path("elsewhere"), "two");
    EXPECT_NE(frozen_image().key, first.key);
    EXPECT_EQ(read_file(fs::path(first.modules) / "kernel/linked.ko").value_or(""), "one");
}

TEST_F(ImageTest, DamagedModulesAreCopiedAgainOrSaidToBeGone) {
    const Frozen kernel = frozen_image();
    ASSERT_FALSE(kernel.modules.empty());
    put(fs::path(kernel.modules) / "kernel/drivers/virtio.ko", "");
    ASSERT_TRUE(build(kernel, paths_, {}));
    EXPECT_EQ(read_file(fs::path(kernel.modules) / "kernel/drivers/virtio.ko").value_or(""), "module");
    fs::remove_all(kernel.modules);
    put(path("6.1/kernel/drivers/virtio.ko"), "another");
    const auto result = build(kernel, paths_, {});
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().text(), HasSubstr("source gone: not what it was when it was submitted"));
}

TEST_F(ImageTest, EqualModulesAreKeptOnceWhateverTheImage) {
    const Frozen first = frozen_image();
    std::string image = *read_file(path("bzImage"));
    put(path("bzImage"), image + "more");
    fs::rename(path("6.1"), path("6.1-copy"));
    Request other = wanted();
    other.modules = path("6.1-copy");
    const auto second = frozen(other);
    ASSERT_TRUE(second) << second.error().text();
    EXPECT_NE(second->key, first.key);
    EXPECT_EQ(second->modules, first.modules);
}

TEST_F(ImageTest, ADirectoryWithoutModulesIsRefused) {
    Request request = wanted();
    request.modules = path("6.1/build");
    const auto result = frozen(request);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().fault, Fault::spec);
    EXPECT_THAT(result.error().text(), HasSubstr("holds no kernel modules"));
}

}  // namespace
}  // namespace kab::kernel
