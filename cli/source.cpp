#include "cli/source.h"

#include "cli/client.h"
#include "daemon/api/views/views.h"

namespace kab::cli {
namespace {

class FromDaemon final : public DataSource {
  public:
    explicit FromDaemon(Client client) : client_(std::move(client)) {}
    Result<std::vector<api::Evaluation>> evaluations() override { return client_.evaluations(); }
    Result<api::EvaluationDetail> evaluation(const std::string& name) override { return client_.evaluation(name); }
    Result<std::vector<api::Kernel>> kernels() override { return client_.kernels(); }
    Result<std::vector<api::Host>> hosts() override { return client_.hosts(); }

  private:
    Client client_;
};

class FromFile final : public DataSource {
  public:
    explicit FromFile(std::unique_ptr<store::Store> store) : store_(std::move(store)) {}
    Result<std::vector<api::Evaluation>> evaluations() override { return api::list_evaluations(*store_); }
    Result<api::EvaluationDetail> evaluation(const std::string& name) override {
        return api::show_evaluation(*store_, name);
    }
    Result<std::vector<api::Kernel>> kernels() override { return api::list_kernels(*store_); }
    Result<std::vector<api::Host>> hosts() override {
        auto hosts = api::list_hosts(*store_);
        if (hosts)
            for (auto& host : *hosts) host.status = "no daemon";
        return hosts;
    }

  private:
    std::unique_ptr<store::Store> store_;
};

}  // namespace

Result<std::unique_ptr<DataSource>> open_source(const Paths& paths) {
    Client client(paths.socket());
    // A daemon of another version will do as long as it speaks the same API; one that cannot be asked will not.
    if (const auto version = client.version(); version && version->api == api::api_version)
        return std::make_unique<FromDaemon>(std::move(client));
    auto store = open_store(paths);
    if (!store) return pass(store);
    return std::make_unique<FromFile>(std::move(*store));
}

Result<std::unique_ptr<store::Store>> open_store(const Paths& paths) {
    auto store = store::Store::open(paths.database(), store::Store::Mode::read_only);
    if (!store && store.error().fault == Fault::not_found)
        return fail(Fault::not_found, "nothing has been run yet: there is no {}", paths.database().string());
    return store;
}

}  // namespace kab::cli
