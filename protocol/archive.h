#pragma once
// One list of fields per type, used to write it as JSON and to read it:
//
//     template <class A, archive::Is<Hello> M>   // M is Hello or const Hello
//     void fields(A& a, M& m) {
//         a("role", m.role);         // required
//         a.maybe("build", m.build); // may be missing when it is read
//     }
//
// in the namespace of the type. Types are checked: the JSON library would turn 1.5 into 1 and true into 1.
#include <concepts>
#include <type_traits>

#include "protocol/archive_reader.h"
#include "protocol/archive_writer.h"

namespace kab::archive {

template <class M, class T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

}  // namespace kab::archive
