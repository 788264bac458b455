#pragma once
// How kab reports failures that can happen in normal use.
//
// A function that can fail returns Result<T>. The error says what failed, on
// which object, and (for system calls) the errno text. Bugs are asserts;
// exceptions of libraries are caught in the wrapper of that library.
//
//   Result<std::string> text = read_file(path);
//   if (!text) return tl::unexpected(text.error());
//
#include <fmt/core.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace kab {

/// What kind of thing went wrong; decides exit codes and HTTP statuses.
enum class Fault {
    usage,      ///< wrong arguments or a request that makes no sense
    spec,       ///< the experiment (or configuration) is wrong
    not_found,  ///< no such object
    conflict,   ///< the object is not in a state that allows this
    io,         ///< a system call failed (disk full, permission, ...)
    build,      ///< a kernel could not be built
    infra,      ///< host, emulator or transport failed
    protocol,   ///< a peer sent what we do not understand
    cancelled,  ///< somebody asked for the end
    timeout,    ///< a deadline passed
    internal,   ///< a bug of kab's
};

/// Stable lower-case name, as used in JSON (`code`).
const char* to_string(Fault fault);

struct Error {
    Fault fault = Fault::internal;
    std::string message;  ///< one line, no trailing full stop
    std::string where;    ///< file:line:column or object; may be empty

    /// "where: message", or the message alone.
    std::string text() const;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

template <class... Args>
tl::unexpected<Error> fail(Fault fault, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{fault, fmt::format(format, std::forward<Args>(args)...), {}});
}

/// An I/O error with the text of `error_number`: "open /x: No such file or directory".
tl::unexpected<Error> fail_errno(int error_number, const std::string& action);

/// Passes an error on from a Result of another type: `return pass(result);`
template <class T>
tl::unexpected<Error> pass(const Result<T>& failed) {
    return tl::unexpected(failed.error());
}
template <class T>
tl::unexpected<Error> pass(Result<T>&& failed) {
    return tl::unexpected(std::move(failed.error()));
}

}  // namespace kab
