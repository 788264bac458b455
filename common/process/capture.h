#pragma once
// What is kept of an output stream: its first and its last part.
#include <string>
#include <string_view>

namespace kab {

class Capture {
  public:
    /// Keeps at most `limit` bytes: half of them from the beginning, half from the end.
    explicit Capture(std::size_t limit) : limit_(limit) {}
    void push(std::string_view bytes);
    bool truncated() const { return dropped_ > 0 || tail_.size() > limit_ / 2; }
    /// What was kept; a cut is marked by "\n[... N bytes left out ...]\n".
    std::string text() const;

  private:
    std::size_t limit_;
    std::string head_, tail_;
    std::size_t dropped_ = 0;
};

/// Cuts a stream into lines.
class LineSplitter {
  public:
    static constexpr std::size_t longest = 64U << 10;

    /// Calls `handle(line)` for every complete line; a line longer than `longest` comes in pieces.
    template <class Handler>
    void push(std::string_view bytes, const Handler& handle) {
        for (;;) {
            const auto end = bytes.find('\n');
            const auto piece = bytes.substr(0, end);
            if (end == std::string_view::npos) {
                partial_.append(piece);
                if (partial_.size() >= longest) finish(handle);
                return;
            }
            if (partial_.empty()) {
                handle(piece);
            } else {
                partial_.append(piece);
                finish(handle);
            }
            bytes.remove_prefix(end + 1);
        }
    }
    /// The last line, if it has no '\n'.
    template <class Handler>
    void finish(const Handler& handle) {
        if (partial_.empty()) return;
        handle(std::string_view(partial_));
        partial_.clear();
    }

  private:
    std::string partial_;
};

}  // namespace kab
