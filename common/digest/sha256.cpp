#include "common/digest/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace kab {
namespace {

// OpenSSL fails here only without memory or with a broken installation; there is nothing to go on with.
void require(int ok) {
    if (ok == 1) return;
    std::fputs("kab: SHA-256 is not available from OpenSSL\n", stderr);
    std::abort();
}

}  // namespace

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    State() {
        require(context != nullptr ? 1 : 0);
        require(EVP_DigestInit_ex(context, EVP_sha256(), nullptr));
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::string_view bytes) {
    require(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
    return *this;
}

Sha256& Sha256::field(std::string_view bytes) {
    std::array<char, 8> length{};
    std::uint64_t size = bytes.size();
    for (auto& byte : length) {
        byte = static_cast<char>(size & 0xff);
        size >>= 8;
    }
    update({length.data(), length.size()});
    return update(bytes);
}

std::string Sha256::hex() {
    std::array<unsigned char, 32> digest{};
    unsigned int size = 0;
    require(EVP_DigestFinal_ex(state_->context, digest.data(), &size));
    std::string text;
    text.reserve(64);
    for (const auto byte : digest) text += fmt::format("{:02x}", byte);
    return text;
}

std::string sha256_hex(std::string_view bytes) {
    return Sha256().update(bytes).hex();
}

Result<std::string> sha256_file(const fs::path& path) {
    auto fd = open_file(path, O_RDONLY);
    if (!fd) return pass(fd);
    Sha256 hash;
    std::string buffer(1U << 20, '\0');
    for (;;) {
        const ssize_t got = ::read(fd->get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(errno, "read " + path.string());
        if (got == 0) return hash.hex();
        hash.update({buffer.data(), static_cast<std::size_t>(got)});
    }
}

}  // namespace kab
