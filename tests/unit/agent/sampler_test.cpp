#include "agent/guest/perf/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include "agent/guest/perf/meter.h"

namespace kab::guest {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

TEST(CpuList, IsReadAsTheKernelWritesIt) {
    EXPECT_THAT(parse_cpu_list("0\n").value(), ElementsAre(0));
    EXPECT_THAT(parse_cpu_list("0-3\n").value(), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(parse_cpu_list("0,2-3,7").value(), ElementsAre(0, 2, 3, 7));
    for (const char* wrong : {"", "\n", "a", "3-1", "0-", "-1", "0-99999999", "0,,1"})
        EXPECT_FALSE(parse_cpu_list(wrong)) << wrong;
}

TEST(BufferBytes, HoldTwiceWhatIsExpectedWithinAnEighthOfMemory) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    constexpr std::uint64_t plenty = 64ULL << 30;
    const auto ten_seconds = Sampler::buffer_bytes(1000, 10s, 2, plenty);
    EXPECT_GE(ten_seconds, 2U * 10 * 1000 * 200);
    EXPECT_LT(ten_seconds, 4U * 10 * 1000 * 200 + page);
    EXPECT_EQ(ten_seconds & (ten_seconds - 1), 0U) << "a power of two";
    EXPECT_GT(Sampler::buffer_bytes(1000, 0ns, 2, plenty), ten_seconds) << "unknown: rather too much";
    EXPECT_EQ(Sampler::buffer_bytes(1000, 1us, 2, plenty), Sampler::buffer_bytes(1000, 1s, 2, plenty));
    // 256 CPUs and 64 MiB: 32 KiB each.
    EXPECT_EQ(Sampler::buffer_bytes(10000, 300s, 256, 64U << 20), 32U << 10);
    EXPECT_EQ(Sampler::buffer_bytes(10000, 300s, 100000, 64U << 20), page);
}

/// Uses that much CPU time.
void spin(std::int64_t ns) {
    timespec used{};
    std::int64_t begin = 0, now = 0;
    do {
        ASSERT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
        now = used.tv_sec * 1000000000LL + used.tv_nsec;
        if (begin == 0) begin = now;
    } while (now - begin < ns);
}

TEST(Sampler, SamplesBetweenStartAndStopOnly) {
    auto sampler = Sampler::open(997, 1s);
    if (!sampler) GTEST_SKIP() << "no sampling of all CPUs here: " << sampler.error().text();
    const auto count = [&] {
        int samples = 0;
        const auto done = sampler->read([&](const StackSample&) { ++samples; });
        EXPECT_TRUE(done) << done.error().text();
        return samples;
    };
    spin(20000000);
    EXPECT_EQ(count(), 0);
    Meter meter({}, &*sampler);
    ASSERT_TRUE(meter.start());
    spin(300000000);
    ASSERT_TRUE(meter.stop());
    const int during = count();
    EXPECT_GT(during, 30) << "300 ms of CPU time at 997 Hz";
    spin(20000000);
    EXPECT_EQ(count(), during);
}

TEST(Sampler, SaysWhenTheBufferWasFull) {
    // A page holds a tenth of the samples, whoever is on the CPUs.
    auto sampler = Sampler::open(10000, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
    if (!sampler) GTEST_SKIP() << "no sampling of all CPUs here: " << sampler.error().text();
    ASSERT_TRUE(sampler->enable());
    spin(300000000);
    ASSERT_TRUE(sampler->disable());
    const auto done = sampler->read([](const StackSample&) {});
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), testing::HasSubstr("was full after"));
}

}  // namespace
}  // namespace kab::guest
