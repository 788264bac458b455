// spec_export FILE...: one line of JSON per file, for tests that judge the same files by other means:
// {"file", "errors": ["file:line:column: message"], "experiment": resolved spec or null, "exported": plain JSON or
// null}
#include <cstdio>

#include "common/files.h"
#include "daemon/spec/experiment_json.h"
#include "daemon/spec/parse.h"

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string file = argv[i];
        const auto text = kab::read_file(file);
        if (!text) {
            std::fprintf(stderr, "%s\n", text.error().text().c_str());
            return 1;
        }
        kab::Json line{{"file", file}, {"errors", kab::Json::array()}, {"experiment", nullptr}, {"exported", nullptr}};
        if (const auto exported = kab::export_yaml(*text, file)) line["exported"] = *exported;
        if (const auto parsed = kab::parse_experiment(*text, file)) {
            line["experiment"] = kab::to_json(parsed->experiment);
        } else {
            for (const auto& error : parsed.error()) line["errors"].push_back(error.text());
        }
        std::printf("%s\n", kab::dump_json(line).c_str());
    }
    return 0;
}
