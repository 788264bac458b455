#include "daemon/history/gather.h"

#include <algorithm>
#include <set>

namespace kab::history {
namespace {

constexpr int all = 1000000000;

Result<Record> read(const store::Store& store, const std::string& uid) {
    Record record;
    auto tree = store.tree(uid);
    if (!tree) return pass(tree);
    record.tree = std::move(*tree);
    auto kernels = store.kernels_of(uid);
    if (!kernels) return pass(kernels);
    record.kernels = std::move(*kernels);
    auto comparisons = store.comparisons(uid);
    if (!comparisons) return pass(comparisons);
    record.comparisons = std::move(*comparisons);
    auto boots = store.boots(uid);
    if (!boots) return pass(boots);
    record.boots = std::move(*boots);
    return record;
}

/// What a kernel can be recognised by.
std::vector<std::string> marks(const store::KernelRow& kernel) {
    std::vector<std::string> found;
    for (const auto& mark : {kernel.image_hash, kernel.code_signature})
        if (!mark.empty()) found.push_back(mark);
    return found;
}

/// Two different kernels of those that `known` has: what could confirm a change.
bool boots_two_of(const std::vector<store::KernelRow>& kernels, const std::set<std::string>& known) {
    std::set<std::int64_t> found;
    for (const auto& kernel : kernels)
        for (const auto& mark : marks(kernel))
            if (known.contains(mark)) found.insert(kernel.id);
    return found.size() >= 2;
}

}  // namespace

Result<std::vector<Record>> gather(const store::Store& store, const std::string& experiment) {
    auto rows = store.evaluations(all);
    if (!rows) return pass(rows);
    std::reverse(rows->begin(), rows->end());
    std::vector<Record> records;
    std::set<std::string> known;
    for (const auto& row : *rows) {
        if (row.experiment != experiment) continue;
        auto record = read(store, row.uid);
        if (!record) return pass(record);
        for (const auto& kernel : record->kernels)
            for (const auto& mark : marks(kernel)) known.insert(mark);
        records.push_back(std::move(*record));
    }
    for (const auto& row : *rows) {
        if (row.experiment == experiment || row.status != "done") continue;
        const auto kernels = store.kernels_of(row.uid);
        if (!kernels) return pass(kernels);
        if (!boots_two_of(*kernels, known)) continue;
        auto record = read(store, row.uid);
        if (!record) return pass(record);
        records.push_back(std::move(*record));
    }
    std::stable_sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
        return a.tree.evaluation.created_at < b.tree.evaluation.created_at;
    });
    return records;
}

}  // namespace kab::history
