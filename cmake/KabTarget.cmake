# kab_library(NAME [DEPENDS targets...]): a static library kab_<NAME> of the *.cpp of the current folder.
# kab_program(NAME DIR? ...): an executable of the given sources.
# Every target includes headers from the top of the tree: #include "common/result.h".

function(kab_settings target)
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
        # g++ 12 warns of overlapping copies inside std::string at -O2 where there are none (GCC bug 105651).
        $<$<AND:$<CXX_COMPILER_ID:GNU>,$<NOT:$<CONFIG:Debug>>>:-Wno-restrict> $<$<BOOL:${KAB_WERROR}>:-Werror>)
    target_compile_definitions(${target} PRIVATE KAB_VERSION="${PROJECT_VERSION}")
endfunction()

function(kab_sanitize target)
    if(KAB_SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=${KAB_SANITIZE} -fno-omit-frame-pointer
            -fno-sanitize-recover=all)
        target_link_options(${target} PUBLIC -fsanitize=${KAB_SANITIZE})
    endif()
endfunction()

function(kab_library name)
    cmake_parse_arguments(arg "STATIC_AGENT" "" "DEPENDS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
    if(sources)
        add_library(kab_${name} STATIC ${sources})
        kab_settings(kab_${name})
        kab_sanitize(kab_${name})
        target_link_libraries(kab_${name} PUBLIC ${arg_DEPENDS})
    else()
        add_library(kab_${name} INTERFACE)
        target_link_libraries(kab_${name} INTERFACE ${arg_DEPENDS})
    endif()
endfunction()

function(kab_program name)
    cmake_parse_arguments(arg "" "DESTINATION" "SOURCES;DEPENDS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    kab_settings(${name})
    kab_sanitize(${name})
    target_link_libraries(${name} PRIVATE ${arg_DEPENDS} fmt::fmt)
    install(TARGETS ${name} RUNTIME DESTINATION ${arg_DESTINATION})
endfunction()
