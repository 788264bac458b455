#pragma once
// Where a kernel's source comes from: each kind ends as a tree in the store, without patches yet.
#include <string>

#include "daemon/kernel/kernel.h"
#include "daemon/kernel/source_store.h"

namespace kab::kernel {

struct BaseSource {
    std::string tree;
    std::string commit;   ///< git commit where there is one
    std::string release;  ///< "6.1.192", from the tree's Makefile
    std::string name;     ///< short, for errors: "linux-source-6.1 6.1.192"
    std::string origin;   ///< for people, see Frozen::origin
};

/// Takes the request's source into the store. Fault::not_found when it is not there (any more), Fault::spec
/// when it is no Linux kernel source.
Result<BaseSource> resolve_source(const Request& request, const SourceStore& store, const Progress& progress);

// One for each kind; `name` and `origin` are still without the release.
Result<BaseSource> resolve_tarball(const std::string& path, const SourceStore& store, const Progress& progress);
Result<BaseSource> resolve_git(const std::string& location, const std::string& ref, const SourceStore& store,
                               const Progress& progress);
Result<BaseSource> resolve_directory(const std::string& path, const SourceStore& store, const Progress& progress);

/// Without the password that a URL may carry: locations are shown and stored.
std::string without_credentials(const std::string& location);

/// The kernel's version by its top Makefile. Fault::spec if that is no kernel's.
Result<std::string> check_makefile(const std::string& makefile);

/// Fault::spec unless the repository names objects by SHA-1, as the store does: others cannot be copied.
Status check_object_format(const Git& git);

/// `make kernelversion` without running make: VERSION, PATCHLEVEL, SUBLEVEL, EXTRAVERSION of a Makefile.
/// Empty when they are not there.
std::string kernel_version(const std::string& makefile);

}  // namespace kab::kernel
