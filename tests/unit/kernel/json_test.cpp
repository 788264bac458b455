#include <gtest/gtest.h>

#include "daemon/kernel/kernel.h"

namespace kab::kernel {
namespace {

TEST(KernelJsonTest, EveryFieldSurvives) {
    Request request{"git",        "/src",           "v6.1",  "/modules",   "defconfig",
                    {"a.config"}, {"b.patch", "c"}, "/root", {"d.config"}, 64};
    auto request_back = request_from_json(to_json(request));
    ASSERT_TRUE(request_back);
    EXPECT_EQ(to_json(*request_back), to_json(request));

    Frozen frozen{"key",     "git",        "origin",    "commit",           "tree",
                  "6.1.192", "tinyconfig", "fragments", {{"f", "s", "id"}}, "gcc",
                  "/image",  "/modules",   "/from",     "6.1-tinyconfig"};
    auto frozen_back = frozen_from_json(to_json(frozen));
    ASSERT_TRUE(frozen_back);
    EXPECT_EQ(to_json(*frozen_back), to_json(frozen));
    EXPECT_EQ(frozen_back->patches.at(0).patch_id, "id");

    Built built{"key", "/p", "vmlinux", "hash", "signature", "/c", "/l", "gcc", true, 1, 2, 3, 4};
    auto built_back = built_from_json(to_json(built));
    ASSERT_TRUE(built_back);
    EXPECT_EQ(to_json(*built_back), to_json(built));
}

TEST(KernelJsonTest, TheFirstFaultIsNamed) {
    auto request = request_from_json(Json{{"kind", "git"}});
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().message, "missing 'location'");
    EXPECT_FALSE(request_from_json(Json{{"kind", 1}, {"location", "x"}}));
    EXPECT_FALSE(frozen_from_json(Json::array()));
    EXPECT_FALSE(built_from_json(Json{{"key", "k"}}));
    EXPECT_FALSE(
        frozen_from_json(Json{{"key", "k"}, {"kind", "git"}, {"origin", "o"}, {"patches", {{{"subject", "s"}}}}}));
}

}  // namespace
}  // namespace kab::kernel
