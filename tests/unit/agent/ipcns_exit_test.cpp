#include "agent/guest/workloads/ipcns_exit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/guest/workloads/ipc_namespaces.h"
#include "common/files.h"

namespace kab::guest {
namespace {

using testing::HasSubstr;

std::string limit_now() {
    return read_file("/proc/sys/user/max_ipc_namespaces").value_or("");
}

bool may_set_limit() {
    return ::access("/proc/sys/user/max_ipc_namespaces", W_OK) == 0;
}

/// Who lacks CAP_SYS_RESOURCE can have it, and limits and counts of his own, in a user namespace.
void enter_user_namespace() {
    const std::string map = "0 " + std::to_string(::getuid()) + " 1";
    if (::unshare(CLONE_NEWUSER) != 0) return;
    const auto fd = open_file("/proc/self/uid_map", O_WRONLY);
    ASSERT_TRUE(fd) << fd.error().text();
    ASSERT_TRUE(write_all(fd->get(), map));
}

/// The real kernel's IPC namespaces: these tests need the right to make some.
class IpcnsExit : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        if (!may_set_limit()) enter_user_namespace();
    }
    void SetUp() override {
        if (!may_set_limit()) GTEST_SKIP() << "may neither set user.max_ipc_namespaces nor make a user namespace here";
        const auto lowest = lowest_ipc_namespace_limit();
        if (!lowest) GTEST_SKIP() << "may not make ipc namespaces here: " << lowest.error().text();
        // What an earlier test left would be taken for somebody else's.
        ASSERT_TRUE(wait_for_ipc_namespaces_below(*lowest, std::chrono::seconds(30)));
        original_ = limit_now();
        workload_ = make_ipcns_exit();
    }
    void TearDown() override {
        workload_.reset();
        if (IsSkipped()) return;
        EXPECT_EQ(limit_now(), original_) << "the limit was not restored";
    }
    static RunContext context(std::int64_t children, std::int64_t concurrency = 0) {
        return {{{"children", children}, {"concurrency", concurrency}}, std::chrono::seconds(30)};
    }

    std::string original_;
    std::unique_ptr<Workload> workload_;
};

void expect_run(Workload& workload, const RunContext& context) {
    auto prepared = workload.prepare(context);
    ASSERT_TRUE(prepared) << prepared.error().text();
    Meter meter({});
    const auto own = workload.run(context, meter);
    ASSERT_TRUE(own) << own.error().text();
    ASSERT_EQ(own->size(), 1U);
    EXPECT_EQ(own->at(0).metric, "elapsed");
    EXPECT_EQ(own->at(0).value.value(), static_cast<double>(meter.elapsed_ns()));
    EXPECT_GT(meter.elapsed_ns(), 0);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
    const auto left = workload.drain(context, meter);
    ASSERT_TRUE(left) << left.error().text();
    ASSERT_EQ(left->size(), 1U);
    EXPECT_EQ(left->at(0).metric, "backlog");
    EXPECT_GT(left->at(0).value.value(), 0);
}

TEST_F(IpcnsExit, GivesElapsedAndBacklog) {
    expect_run(*workload_, context(20));
    EXPECT_EQ(limit_now(), original_);
    expect_run(*workload_, context(20));  // the same object serves all runs of a boot
}

TEST_F(IpcnsExit, KeepsToTheConcurrency) {
    expect_run(*workload_, context(20, 1));
    expect_run(*workload_, context(20, 7));
    expect_run(*workload_, context(3, 100));
}

TEST_F(IpcnsExit, ARefusedUnshareIsAnErrorThatNamesCallChildAndCause) {
    ASSERT_TRUE(workload_->prepare(context(20)));
    auto limit = IpcNamespaceLimit::take();
    ASSERT_TRUE(limit);
    ASSERT_TRUE(limit->set(0));
    Meter meter({});
    const auto own = workload_->run(context(20), meter);
    ASSERT_FALSE(own);
    EXPECT_THAT(own.error().text(), HasSubstr("unshare(CLONE_NEWIPC) in child "));
    EXPECT_THAT(own.error().text(), HasSubstr("No space left on device (20 of 20 children failed)"));
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(IpcnsExit, MoreChildrenThanPidsIsRefusedBeforeTheRun) {
    auto too_many = std::stoll(read_file("/proc/sys/kernel/pid_max").value_or("0")) + 1;
    const auto refused = workload_->prepare(context(too_many));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().text(), HasSubstr("children at once exceed kernel.pid_max"));
    EXPECT_TRUE(workload_->prepare(context(too_many, 10)));  // a few at a time are fine
}

TEST_F(IpcnsExit, RaisesALimitThatIsTooLowForTheBacklogOfOneRun) {
    auto limit = IpcNamespaceLimit::take();
    ASSERT_TRUE(limit);
    ASSERT_TRUE(limit->set(3));
    expect_run(*workload_, context(20));
    EXPECT_EQ(limit_now(), "3\n");
}

/// A child that holds an IPC namespace until it is told to go.
class Holder {
  public:
    Holder() {
        int made[2], go[2];
        if (::pipe(made) != 0 || ::pipe(go) != 0) return;
        child_ = ::fork();
        if (child_ == 0) {
            ::close(go[1]);
            char byte = ::unshare(CLONE_NEWIPC) == 0 ? 'y' : 'n';
            if (::write(made[1], &byte, 1) != 1) ::_exit(1);
            ::_exit(::read(go[0], &byte, 1) == 0 ? 0 : 1);
        }
        char byte = 'n';
        holds_ = ::read(made[0], &byte, 1) == 1 && byte == 'y';
        for (int fd : {made[0], made[1], go[0]}) ::close(fd);
        go_ = UniqueFd(go[1]);
    }
    void let_go() {
        go_.reset();
        ::waitpid(child_, nullptr, 0);
    }
    bool holds() const { return holds_; }

  private:
    pid_t child_ = -1;
    bool holds_ = false;
    UniqueFd go_;
};

TEST_F(IpcnsExit, DrainGivesUpAfterItsLimit) {
    const RunContext impatient{context(5).with, std::chrono::milliseconds(50)};
    ASSERT_TRUE(workload_->prepare(impatient));
    Holder holder;
    ASSERT_TRUE(holder.holds());
    Meter meter({});
    const auto own = workload_->run(impatient, meter);
    ASSERT_TRUE(own) << own.error().text();
    const auto left = workload_->drain(impatient, meter);
    holder.let_go();
    ASSERT_FALSE(left);
    EXPECT_EQ(left.error().fault, Fault::timeout);
}

TEST_F(IpcnsExit, WaitingForNamespacesSeesOneThatIsHeld) {
    const auto lowest = lowest_ipc_namespace_limit();
    ASSERT_TRUE(lowest);
    ASSERT_TRUE(wait_for_ipc_namespaces_below(*lowest, std::chrono::seconds(30)));
    Holder holder;
    ASSERT_TRUE(holder.holds());
    const auto held = wait_for_ipc_namespaces_below(*lowest, std::chrono::milliseconds(50));
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().fault, Fault::timeout);
    EXPECT_THAT(held.error().text(), HasSubstr("backlog not drained within 50ms"));
    EXPECT_EQ(limit_now(), original_);
    holder.let_go();
    EXPECT_TRUE(wait_for_ipc_namespaces_below(*lowest, std::chrono::seconds(30)));
}

}  // namespace
}  // namespace kab::guest
