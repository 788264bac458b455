# All from Debian 12 packages (scripts/packages-*.txt); nothing is fetched at configure.
find_package(Threads REQUIRED)
find_package(Boost 1.81 EXACT REQUIRED)   # headers: Asio, Beast, Process v2, Math
find_package(nlohmann_json 3.11 REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(yaml-cpp 0.7 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(LibArchive 3.6 REQUIRED)
find_package(OpenSSL 3 REQUIRED COMPONENTS Crypto)
find_path(TL_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)

# Asio and Process v2: header-only, one place for their settings.
add_library(kab_asio INTERFACE)
target_link_libraries(kab_asio INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(kab_asio INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_PROCESS_USE_STD_FS)
