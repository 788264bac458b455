#pragma once
// Where list, show, kernels and hosts read: from the daemon when one answers (it knows the progress too),
// else from the database file.
#include <memory>
#include <vector>

#include "common/paths.h"
#include "common/result.h"
#include "daemon/store/store.h"
#include "protocol/api/types.h"

namespace kab::cli {

class DataSource {
  public:
    virtual ~DataSource() = default;
    virtual Result<std::vector<api::Evaluation>> evaluations() = 0;  ///< newest first
    virtual Result<api::EvaluationDetail> evaluation(const std::string& name) = 0;
    virtual Result<std::vector<api::Kernel>> kernels() = 0;
    /// Without a daemon their status is "no daemon": nobody knows what they do.
    virtual Result<std::vector<api::Host>> hosts() = 0;
};

/// Never starts a daemon. Fault::not_found when there is neither a daemon nor a database.
Result<std::unique_ptr<DataSource>> open_source(const Paths& paths);

/// The database, read-only. Fault::not_found says that nothing has been run yet.
Result<std::unique_ptr<store::Store>> open_store(const Paths& paths);

}  // namespace kab::cli
