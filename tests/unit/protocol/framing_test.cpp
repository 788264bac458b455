#include "protocol/framing.h"

#include <gmock/gmock.h>

#include <random>

namespace kab {
namespace {

std::vector<std::string> drain(FrameReader& reader) {
    std::vector<std::string> out;
    for (;;) {
        auto payload = reader.pop();
        EXPECT_TRUE(payload) << payload.error().text();
        if (!payload || !*payload) return out;
        out.push_back(**payload);
    }
}

TEST(Framing, PrefixIsLittleEndian) {
    EXPECT_EQ(frame("abc"), std::string("\x03\0\0\0abc", 7));
}

TEST(Framing, SplitAtEveryByteGivesTheSamePayloads) {
    const std::string stream = frame("first") + frame("") + frame(std::string(300, 'x'));
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        FrameReader reader;
        std::vector<std::string> got;
        reader.push(stream.substr(0, cut));
        for (auto& payload : drain(reader)) got.push_back(payload);
        reader.push(stream.substr(cut));
        for (auto& payload : drain(reader)) got.push_back(payload);
        EXPECT_THAT(got, testing::ElementsAre("first", "", std::string(300, 'x'))) << "cut at " << cut;
        EXPECT_FALSE(reader.partial());
    }
}

TEST(Framing, ByteByByte) {
    FrameReader reader;
    std::vector<std::string> got;
    for (const char byte : frame("one") + frame("two")) {
        reader.push(std::string_view(&byte, 1));
        for (auto& payload : drain(reader)) got.push_back(payload);
    }
    EXPECT_THAT(got, testing::ElementsAre("one", "two"));
}

TEST(Framing, UnfinishedFrameIsPartial) {
    FrameReader reader;
    EXPECT_FALSE(reader.partial());
    const std::string whole = frame("abc");
    reader.push(whole.substr(0, 6));
    EXPECT_TRUE(drain(reader).empty());
    EXPECT_TRUE(reader.partial());
    reader.push(whole.substr(6));
    EXPECT_EQ(drain(reader).size(), 1U);
    EXPECT_FALSE(reader.partial());
}

TEST(Framing, LargestFrameIsAccepted) {
    FrameReader reader;
    reader.push(frame(std::string(max_frame_bytes, 'y')));
    const auto got = drain(reader);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].size(), max_frame_bytes);
}

TEST(Framing, OversizeIsRefusedAndStaysRefused) {
    FrameReader reader;
    reader.push(frame("fine") + std::string("\x01\0\x10\0", 4));  // 1 MiB + 1
    auto first = reader.pop();
    ASSERT_TRUE(first && *first);
    for (int i = 0; i < 3; ++i) {
        const auto refused = reader.pop();
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().fault, Fault::protocol);
        EXPECT_THAT(refused.error().message, testing::HasSubstr("1048577"));
        reader.push(frame("never seen"));
    }
}

TEST(Framing, ManyFramesInOnePushAndOverALongLife) {
    FrameReader reader;
    std::size_t seen = 0;
    const std::string payload(1000, 'z');
    for (int round = 0; round < 500; ++round) {
        reader.push(frame(payload) + frame(payload) + frame(payload).substr(0, 7));
        seen += drain(reader).size();
        reader.push(frame(payload).substr(7));
        seen += drain(reader).size();
    }
    EXPECT_EQ(seen, 1500U);
}

TEST(Framing, RandomBytesNeverCrash) {
    std::mt19937 random(1);  // NOLINT: a fixed seed on purpose
    for (int round = 0; round < 2000; ++round) {
        FrameReader reader;
        std::string bytes(random() % 64, '\0');
        for (char& byte : bytes) byte = static_cast<char>(random() % (round % 2 ? 256U : 4U));
        reader.push(bytes);
        std::size_t payload_bytes = 0;
        for (;;) {
            const auto payload = reader.pop();
            if (!payload || !*payload) break;
            payload_bytes += 4 + (*payload)->size();
        }
        EXPECT_LE(payload_bytes, bytes.size());
    }
}

}  // namespace
}  // namespace kab
