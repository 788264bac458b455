#pragma once
// Writes files into the source store as one tree, through `git fast-import`: one pack instead of 80000 objects.
#include <memory>
#include <string>
#include <string_view>

#include "daemon/kernel/source_store.h"

namespace kab::kernel {

class TreeWriter {
  public:
    enum class Mode { file, executable, symlink };

    static Result<TreeWriter> start(const SourceStore& store);
    TreeWriter(TreeWriter&&) noexcept;
    ~TreeWriter();

    /// A file of `size` bytes; exactly that many must follow by data(). `path` is relative, with '/'.
    /// Fault::spec for a path that leads outside or into .git.
    Status begin(std::string_view path, Mode mode, std::uint64_t size);
    Status data(std::string_view bytes);
    /// begin and data in one; a symlink's data is its target.
    Status add(std::string_view path, Mode mode, std::string_view bytes);

    /// `path` becomes the same as `source`, which was added before (a hard link).
    Status copy(std::string_view source, std::string_view path);

    /// The tree, complete in the store; if all lies in one top directory, that directory's tree.
    Result<std::string> finish();

  private:
    struct State;
    explicit TreeWriter(std::unique_ptr<State> state);
    Status flush();
    Status end();
    std::unique_ptr<State> state_;
};

}  // namespace kab::kernel
