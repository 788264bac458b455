#pragma once
// A value shared between a process and the children it forks.
#include <sys/mman.h>

#include <cerrno>
#include <new>
#include <type_traits>
#include <utility>

#include "common/result.h"

namespace kab::guest {

/// Owns an anonymous shared mapping with one T in it.
template <class T>
class Shared {
    static_assert(std::is_trivially_destructible_v<T>);

  public:
    static Result<Shared> make() {
        void* memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return fail_errno(errno, "map shared memory");
        return Shared(new (memory) T());
    }
    Shared(Shared&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
    Shared& operator=(Shared&&) = delete;
    ~Shared() {
        if (value_) ::munmap(value_, sizeof(T));
    }
    T* operator->() const { return value_; }

  private:
    explicit Shared(T* value) : value_(value) {}
    T* value_;
};

}  // namespace kab::guest
