#pragma once
// The text of an experiment -> daemon/spec/experiment.h. Language: docs/experiment-yaml.md.
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "common/json.h"
#include "daemon/spec/experiment.h"

namespace kab {

/// A path as written in the spec -> "file:line:column" of its first mention.
using Places = std::map<std::string, std::string>;

struct ParsedSpec {
    Experiment experiment;
    Json exported;  ///< the document as plain JSON, for schema validation. Has no order of keys (the first
                    ///< arm is the baseline): hash to_json(experiment) instead.
    Places places;  ///< for resolve()
};

/// All errors at once, in the order of the file: Fault::spec, `where` is "file:line:column". Any
/// bytes are safe to pass. With errors, `partial` gets what could be read nevertheless: what could not is empty.
tl::expected<ParsedSpec, std::vector<Error>> parse_experiment(std::string_view text, std::string_view file_name,
                                                              ParsedSpec* partial = nullptr);

/// Only the YAML layer: the document as plain JSON, right or wrong as an experiment.
tl::expected<Json, std::vector<Error>> export_yaml(std::string_view text, std::string_view file_name);

}  // namespace kab
