#include "agent/guest/perf/sample_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <vector>

namespace kab::guest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kernel_mark = static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL);
constexpr auto user_mark = static_cast<std::uint64_t>(PERF_CONTEXT_USER);

/// A ring as the kernel fills it.
struct Ring {
    explicit Ring(std::size_t bytes, std::uint64_t position = 0) : data(bytes), tail(position), head(position) {}

    void put(std::uint32_t type, std::uint16_t misc, std::vector<std::uint64_t> body) {
        perf_event_header header{type, misc, static_cast<std::uint16_t>(8 + 8 * body.size())};
        std::uint64_t word = 0;
        std::memcpy(&word, &header, sizeof word);
        body.insert(body.begin(), word);
        for (const auto value : body) put_word(value);
    }
    void put_word(std::uint64_t value) {
        std::memcpy(data.data() + (head & (data.size() - 1)), &value, sizeof value);
        head += sizeof value;
    }
    void put_kernel_sample(std::uint64_t address, std::vector<std::uint64_t> callers) {
        std::vector<std::uint64_t> body{address, callers.size() + 2, kernel_mark, address};
        body.insert(body.end(), callers.begin(), callers.end());
        put(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, body);
    }

    std::vector<std::byte> data;
    std::uint64_t tail, head;
};

struct Taken {
    bool user;
    std::uint64_t address;
    std::vector<std::uint64_t> callers;
};

struct Read {
    Result<BufferEvents> events;
    std::vector<Taken> samples;
};

Read read(const Ring& ring) {
    Read done;
    done.events = read_samples(ring.data, ring.tail, ring.head, [&](const StackSample& sample) {
        done.samples.push_back({sample.user, sample.address, {sample.callers.begin(), sample.callers.end()}});
    });
    return done;
}

TEST(SampleBuffer, GivesThePlaceAndItsCallers) {
    Ring ring(4096);
    ring.put_kernel_sample(0x10, {0x20, 0x30});
    ring.put(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, {0x40, 0});
    const auto done = read(ring);
    ASSERT_TRUE(done.events) << done.events.error().text();
    EXPECT_EQ(done.events->samples, 2U);
    ASSERT_EQ(done.samples.size(), 2U);
    EXPECT_FALSE(done.samples[0].user);
    EXPECT_EQ(done.samples[0].address, 0x10U);
    EXPECT_THAT(done.samples[0].callers, ElementsAre(0x20, 0x30));
    EXPECT_TRUE(done.samples[1].user);
    EXPECT_THAT(done.samples[1].callers, IsEmpty());
}

TEST(SampleBuffer, LeavesOutTheFramesOfUserSpace) {
    Ring ring(4096);
    ring.put(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, {0x10, 6, kernel_mark, 0x10, 0x20, user_mark, 0x7f, 0x7e});
    const auto done = read(ring);
    ASSERT_TRUE(done.events);
    EXPECT_THAT(done.samples.at(0).callers, ElementsAre(0x20));
}

TEST(SampleBuffer, ReadsRecordsAcrossTheEndOfTheRing) {
    // From every position, so that header and body each begin, end and break at the end of the ring.
    for (std::uint64_t start = 0; start < 512; start += 8) {
        Ring ring(256, start);
        ring.put_kernel_sample(0x10 + start, {0x20, 0x30, 0x40});
        ring.put_kernel_sample(0x50, {0x60});
        ring.put_kernel_sample(0x70, {0x80, 0x90, 0xa0, 0xb0, 0xc0});
        const auto done = read(ring);
        ASSERT_TRUE(done.events) << start << done.events.error().text();
        ASSERT_EQ(done.samples.size(), 3U);
        EXPECT_EQ(done.samples[0].address, 0x10 + start);
        EXPECT_THAT(done.samples[0].callers, ElementsAre(0x20, 0x30, 0x40));
        EXPECT_THAT(done.samples[2].callers, ElementsAre(0x80, 0x90, 0xa0, 0xb0, 0xc0));
    }
}

TEST(SampleBuffer, CountsWhatTheKernelLostAndHeldUp) {
    Ring ring(4096);
    ring.put(PERF_RECORD_LOST, 0, {1, 42});
    ring.put(PERF_RECORD_THROTTLE, 0, {1, 2, 3});
    ring.put(PERF_RECORD_LOST, 0, {1, 8});
    ring.put(PERF_RECORD_COMM, 0, {1, 2});
    ring.put_kernel_sample(0x10, {});
    const auto done = read(ring);
    ASSERT_TRUE(done.events);
    EXPECT_EQ(done.events->lost, 50U);
    EXPECT_EQ(done.events->throttled, 1U);
    EXPECT_EQ(done.events->samples, 1U);
}

TEST(SampleBuffer, AnEmptyOneHasNothing) {
    const auto done = read(Ring(4096, 8192));
    ASSERT_TRUE(done.events);
    EXPECT_EQ(done.events->samples, 0U);
}

TEST(SampleBuffer, RefusesRecordsThatAreCutOff) {
    Ring cut(4096);
    cut.put_kernel_sample(0x10, {0x20});
    cut.head -= 8;
    EXPECT_THAT(read(cut).events.error().text(), HasSubstr("a record of 48 bytes where 40 are left"));
    Ring crumb(4096);
    crumb.put_word(0);
    crumb.head -= 4;
    EXPECT_THAT(read(crumb).events.error().text(), HasSubstr("4 bytes at the end"));
}

TEST(SampleBuffer, RefusesWhatCannotBeARecord) {
    Ring zero(4096);
    zero.put_word(0);  // a header of size 0 would be read for ever
    EXPECT_FALSE(read(zero).events);
    Ring odd(4096);
    odd.put_word(std::uint64_t{12} << 48 | PERF_RECORD_SAMPLE);
    odd.put_word(0);
    EXPECT_FALSE(read(odd).events);
    Ring liar(4096);
    liar.put(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, {0x10, 1000});
    EXPECT_THAT(read(liar).events.error().text(), HasSubstr("too short for its chain"));
    Ring brief(4096);
    brief.put(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, {0x10});
    EXPECT_FALSE(read(brief).events);
    Ring huge(256);
    huge.head = 512;
    EXPECT_THAT(read(huge).events.error().text(), HasSubstr("512 bytes in a buffer of 256"));
    Ring backwards(256, 128);
    backwards.head = 64;
    EXPECT_FALSE(read(backwards).events);
}

TEST(SampleBuffer, NoSampleIsLargerThanItsDepthAllows) {
    Ring ring(4096);
    ring.put_kernel_sample(0x10, {1, 2, 3, 4, 5, 6, 7});  // eight entries with the place itself
    EXPECT_LE(ring.head, largest_sample(8));
}

}  // namespace
}  // namespace kab::guest
