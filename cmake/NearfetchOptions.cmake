# SPDX-License-Identifier: Apache-2.0
#
# What every target of the project is compiled with, gathered in the interface target `nearfetch_options`.
#
# Cache variables:
#   NF_CHECKS           assertions NF_EXPECT and NF_ENSURE are compiled in (presets dev, asan, tsan)
#   NEARFETCH_WERROR    warnings are errors (preset dev)
#   NEARFETCH_SANITIZE  value of -fsanitize=, for example "address,undefined"; empty for none
#   NEARFETCH_FUZZ      build the fuzzers (preset fuzz; takes clang)

option(NF_CHECKS "Compile the assertions in" OFF)
option(NEARFETCH_WERROR "Treat warnings as errors" OFF)
option(NEARFETCH_FUZZ "Build the fuzzers" OFF)
set(NEARFETCH_SANITIZE
    ""
    CACHE STRING "Value of -fsanitize=, empty for none")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE
        Release
        CACHE STRING "Build type" FORCE)
endif()

find_program(NEARFETCH_CCACHE ccache)
mark_as_advanced(NEARFETCH_CCACHE)
foreach(language IN ITEMS C CXX)
    # Build folders of one source tree share what is compiled alike.
    if(NEARFETCH_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
        set(CMAKE_${language}_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
                                                CCACHE_NOHASHDIR=1 ${NEARFETCH_CCACHE})
    endif()
endforeach()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

add_library(nearfetch_options INTERFACE)
target_include_directories(nearfetch_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(nearfetch_options INTERFACE nearfetch_dependencies)
# Fortran sources take neither the C warnings nor the sanitizers.
target_compile_options(
    nearfetch_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow>
                                $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>)
# What a simulator loads once for each rank has variables of its own each time, those of inline functions, too.
target_compile_options(nearfetch_options INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)
# GCC 12 sees overlapping copies inside its own std::string.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(nearfetch_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(NEARFETCH_WERROR)
    target_compile_options(nearfetch_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()
if(NF_CHECKS)
    target_compile_definitions(nearfetch_options INTERFACE NF_CHECKS=1)
endif()
if(NEARFETCH_SANITIZE)
    target_compile_options(
        nearfetch_options
        INTERFACE
            "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${NEARFETCH_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>"
    )
    # Fortran programs too: they have parts in C.
    target_link_options(nearfetch_options INTERFACE -fsanitize=${NEARFETCH_SANITIZE})
endif()
