// Git repositories: local ones are read in place and what is needed is copied, so that a repository may go or
// be rebased afterwards; from a URL one commit is fetched.
#include "common/digest/sha256.h"
#include "common/suggest.h"
#include "daemon/kernel/source.h"

namespace kab::kernel {
namespace {

/// While it is waited for a server, the store and (for the fetch) the machine are closed to others.
constexpr Nanoseconds answer_limit = std::chrono::minutes(2), fetch_limit = std::chrono::minutes(30);

/// "https://…", "file://…", "host:path"; everything absolute is a path.
bool is_url(const std::string& location) {
    return !location.empty() && location.front() != '/' && location.find(':') != std::string::npos;
}

bool is_commit_id(const std::string& ref) {
    return ref.size() == 40 && ref.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::string> resolve_ref(const Git& git, const std::string& ref) {
    auto commit = git.run({"rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}"});
    if (!commit) return pass(commit);
    if (commit->status.ok()) return split_lines(commit->out).front();
    auto names = git.text({"for-each-ref", "--format=%(refname:short)"});
    const std::string near = names ? suggest(ref, split_lines(*names)) : "";
    return fail(Fault::spec, "has no commit '{}'{}", ref, near.empty() ? "" : "; did you mean " + near + "?");
}

Result<BaseSource> from_local(const std::string& path, const std::string& ref, const SourceStore& store,
                              const Progress& progress) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) return fail(Fault::not_found, "no such git repository");
    Git git;
    git.directory = path;
    git.user_configuration = true;  // its safe.directory decides whose repositories are trusted
    auto found = git.run({"rev-parse", "--git-dir"});
    if (!found) return pass(found);
    if (!found->status.ok()) {
        const std::string complaint = first_complaint(found->err);
        if (complaint.find("not a git repository") == std::string::npos) return fail(Fault::spec, "{}", complaint);
        return fail(Fault::spec, "is no git repository (for a plain directory use dir:)");
    }
    if (auto checked = check_object_format(git); !checked) return pass(checked);
    auto commit = resolve_ref(git, ref);
    if (!commit) return pass(commit);
    auto tree = git.text({"rev-parse", "--verify", *commit + "^{tree}"});
    if (!tree) return pass(tree);
    auto makefile = read_blob(git, *tree, "Makefile");  // first of all: nothing of another project is copied
    if (!makefile && makefile.error().fault != Fault::not_found) return pass(makefile);
    if (auto release = check_makefile(makefile.value_or("")); !release) return pass(release);
    if (auto imported = store.import(git, *tree, path, progress); !imported) return pass(imported);
    BaseSource source;
    source.tree = *tree;
    source.commit = *commit;
    return source;
}

/// Git repeats the URL in what it says; a password in it must not come into errors, which are stored and shown.
template <class T>
Result<T> without_password(Result<T> result, const std::string& url) {
    if (result || url == without_credentials(url)) return result;
    Error error = result.error();
    for (auto at = error.message.find(url); at != std::string::npos; at = error.message.find(url, at))
        error.message.replace(at, url.size(), without_credentials(url));
    return tl::unexpected(error);
}

tl::unexpected<Error> other_format(const std::string& format) {
    return fail(Fault::spec,
                "is a git repository of the object format {}, which is not supported: give a tarball of it", format);
}

/// The id a server's ref stands for, in git's own order of precedence; the ref itself if it is an id.
Result<std::string> remote_id(const Git& git, const std::string& url, const std::string& ref) {
    if (is_commit_id(ref)) return ref;
    auto listed = git.text({"ls-remote", "--", url, ref, ref + "^{}"});  // ^{}: what an annotated tag leads to
    if (!listed) return pass(listed);
    const auto lines = split_lines(*listed);
    if (!lines.empty() && lines.front().find('\t') == 64) return other_format("sha256");
    for (const std::string& name :
         {ref + "^{}", ref, "refs/" + ref, "refs/tags/" + ref + "^{}", "refs/tags/" + ref, "refs/heads/" + ref}) {
        for (const auto& line : lines) {
            if (line.size() > 41 && line.substr(41) == name) return line.substr(0, 40);
        }
    }
    return fail(Fault::spec, "has no branch or tag '{}'", ref);
}

Result<BaseSource> from_url(const std::string& url, const std::string& ref, const SourceStore& store,
                            const Progress& progress) {
    if (url.front() == '-') return fail(Fault::spec, "is no URL");
    Git git = store.git();
    git.user_configuration = true;  // credentials, proxies, url.*.insteadOf
    git.limit = answer_limit;
    auto commit = without_password(remote_id(git, url, ref), url);
    if (!commit) return pass(commit);
    const std::string kept = "refs/kab/commit/" + *commit;
    auto known = store.find(kept);
    if (!known) return pass(known);
    if (!*known) {
        auto machine = take_machine("fetching " + without_credentials(url), progress);
        if (!machine) return pass(machine);
        git.limit = fetch_limit;
        auto fetched = without_password(git.text({"-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=60",
                                                  "fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head",
                                                  "--no-auto-maintenance", "--", url, "+" + *commit + ":" + kept}),
                                        url);
        if (!fetched) return pass(fetched);
        known = store.find(kept);
        if (!known) return pass(known);
    }
    if (!*known) return fail(Fault::infra, "did not send commit {}", *commit);
    if (auto marked = store.keep(**known); !marked) return pass(marked);
    BaseSource source;
    source.tree = **known;
    source.commit = *commit;
    return source;
}

}  // namespace

std::string without_credentials(const std::string& location) {
    const auto scheme = location.find("://");
    if (scheme == std::string::npos) return location;
    const auto begin = scheme + 3, end = std::min(location.find('/', begin), location.size());
    const auto at = location.rfind('@', end);
    if (at == std::string::npos || at < begin) return location;
    return location.substr(0, begin) + location.substr(at + 1);
}

Status check_object_format(const Git& git) {
    auto format = git.text({"rev-parse", "--show-object-format"});
    if (!format) return pass(format);
    if (*format == "sha1") return {};
    return other_format(*format);
}

Result<BaseSource> resolve_git(const std::string& location, const std::string& ref, const SourceStore& store,
                               const Progress& progress) {
    const std::string wanted = ref.empty() ? "HEAD" : ref;
    if (progress) progress("import", 0, 0);
    auto source =
        is_url(location) ? from_url(location, wanted, store, progress) : from_local(location, wanted, store, progress);
    if (!source) return source;
    source->name = fs::path(without_credentials(location)).filename().string() + " " + wanted;
    source->origin = fmt::format("git {} {} (commit {})", without_credentials(location), wanted, source->commit);
    return source;
}

}  // namespace kab::kernel
