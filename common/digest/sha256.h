#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "common/files.h"
#include "common/result.h"

namespace kab {

/// Incremental SHA-256 (OpenSSL's EVP). Fields are separated by `field`, so that ("ab","c") and
/// ("a","bc") differ.
class Sha256 {
  public:
    Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    ~Sha256();

    Sha256& update(std::string_view bytes);
    /// The length of `bytes` (8 bytes, little endian), then `bytes`.
    Sha256& field(std::string_view bytes);
    /// 64 lower-case hex digits. The object is spent afterwards.
    std::string hex();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view bytes);
Result<std::string> sha256_file(const fs::path& path);

}  // namespace kab
