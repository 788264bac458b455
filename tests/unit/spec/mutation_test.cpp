// Good files damaged at random, with fixed seeds: they are read or refused, never more.
#include <gtest/gtest.h>

#include <random>

#include "common/files.h"
#include "daemon/spec/experiment_json.h"
#include "daemon/spec/limits.h"
#include "daemon/spec/parse.h"

namespace kab {
namespace {

const char* const pieces[] = {"[",    "]",    "{",    "}",  ": ",   "- ",    "\n",   "\n  ",  "&a ",   "*a",
                              "!!x ", "|\n",  ">-\n", "\"", "'",    "#",     "? ",   "---",   "...",   "%",
                              "\t",   "\r\n", "~",    "-1", "1e9",  "010",   "On",   "0x",    ",,",    "@x",
                              "\xff", "\0x",  "true", "{}", "null", "'a': ", "<<: ", "1e999", "arms:", "looks"};

std::string damage(std::string text, std::mt19937& random) {
    for (unsigned changes = 1 + random() % 6; changes > 0 && !text.empty(); --changes) {
        const std::size_t at = random() % text.size();
        switch (random() % 6) {
            case 0: text[at] = static_cast<char>(random() % 256); break;
            case 1: text.erase(at, 1 + random() % 8); break;
            case 2: text.insert(at, pieces[random() % std::size(pieces)]); break;
            case 3: text.insert(at, text.substr(random() % text.size(), random() % 40)); break;
            case 4: std::swap(text[at], text[random() % text.size()]); break;
            default: text.resize(at); break;
        }
    }
    return text;
}

TEST(SpecMutation, DamagedFilesAreReadOrRefusedWithAPlace) {
    std::vector<std::string> texts;
    for (const auto& entry : fs::directory_iterator(fs::path(KAB_SOURCE_DIR) / "tests/golden/spec/good")) {
        auto text = read_file(entry.path());
        ASSERT_TRUE(text);
        texts.push_back(std::move(*text));
    }
    std::sort(texts.begin(), texts.end());  // the order of a directory is arbitrary, the seed is not
    int read = 0, refused = 0;
    for (unsigned seed = 1; seed <= 6000; ++seed) {
        std::mt19937 random(seed);
        const std::string text = damage(texts[random() % texts.size()], random);
        SCOPED_TRACE("seed " + std::to_string(seed) + ":\n" + text);
        const auto parsed = parse_experiment(text, "f");
        if (parsed) {
            ++read;
            const auto back = experiment_from_json(to_json(parsed->experiment));
            ASSERT_TRUE(back) << back.error().text();
            for (const WorkloadSpec& workload : parsed->experiment.workloads) {
                EXPECT_LE(workload.points().size(), static_cast<std::size_t>(spec_limits::most_points));
            }
        } else {
            ++refused;
            ASSERT_FALSE(parsed.error().empty());
            for (const Error& error : parsed.error()) {
                EXPECT_TRUE(error.where.starts_with("f")) << error.text();
                EXPECT_FALSE(error.message.empty());
                EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
            }
        }
    }
    // Both ways are really taken.
    EXPECT_GT(read, 100);
    EXPECT_GT(refused, 1000);
}

TEST(SpecMutation, RandomBytesAreRefused) {
    for (unsigned seed = 1; seed <= 2000; ++seed) {
        std::mt19937 random(seed);
        std::string text(random() % 200, '\0');
        const bool printable = seed % 2 == 0;
        for (char& byte : text) {
            byte = static_cast<char>(printable ? ' ' + random() % 95 : random() % 256);
            if (printable && random() % 10 == 0) byte = '\n';
        }
        EXPECT_FALSE(parse_experiment(text, "f")) << seed;
    }
}

}  // namespace
}  // namespace kab
