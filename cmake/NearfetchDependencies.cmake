# SPDX-License-Identifier: Apache-2.0
#
# Headers that the build needs, and that nobody needs where nearfetch runs: of Boost (lists and trees of the caches) and
# of nlohmann-json (files of counters). They are in the interface target nearfetch_dependencies.
#
# Cache variables:
#   NEARFETCH_FETCH                            download those that are missing
#   NEARFETCH_BOOST_URL, NEARFETCH_JSON_URL    from where: an archive on a mirror, or a file

include(FetchContent)
option(NEARFETCH_FETCH "Download headers that the build needs and that are missing" OFF)
set(NEARFETCH_BOOST_URL
    https://archives.boost.io/release/1.83.0/source/boost_1_83_0.tar.bz2
    CACHE STRING "Where Boost is downloaded from")
set(NEARFETCH_JSON_URL
    https://github.com/nlohmann/json/releases/download/v3.11.3/include.zip
    CACHE STRING "Where nlohmann-json is downloaded from")
mark_as_advanced(NEARFETCH_BOOST_URL NEARFETCH_JSON_URL)

add_library(nearfetch_dependencies INTERFACE)

# _nearfetch_need(<name> <header> <Debian package> <folder in the archive> <SHA-256 of the archive>)
function(_nearfetch_need name header package folder hash)
    string(TOUPPER ${name} NAME)
    find_path(NEARFETCH_${NAME}_INCLUDE_DIR ${header})
    mark_as_advanced(NEARFETCH_${NAME}_INCLUDE_DIR)
    set(found ${NEARFETCH_${NAME}_INCLUDE_DIR})
    if(NOT found AND NEARFETCH_FETCH)
        message(STATUS "downloading ${NEARFETCH_${NAME}_URL}")
        # An archive of one's own has a sum of its own.
        set(expected "")
        if(NEARFETCH_${NAME}_URL MATCHES "^https://(archives\\.boost\\.io|github\\.com)/")
            set(expected URL_HASH SHA256=${hash})
        endif()
        FetchContent_Declare(
            nearfetch_${name}
            URL ${NEARFETCH_${NAME}_URL} ${expected}
            DOWNLOAD_EXTRACT_TIMESTAMP ON
            SOURCE_SUBDIR none)
        FetchContent_MakeAvailable(nearfetch_${name})
        find_path(
            _nearfetch_fetched ${header}
            PATHS ${nearfetch_${name}_SOURCE_DIR} ${nearfetch_${name}_SOURCE_DIR}/${folder}
            NO_DEFAULT_PATH NO_CACHE)
        set(found ${_nearfetch_fetched})
    endif()
    if(NOT found)
        message(FATAL_ERROR "${header} is missing (nearfetch cannot be compiled without): install ${package}, or what your "
                            "system calls it; or name its folder by -DCMAKE_INCLUDE_PATH=...; or let CMake download it "
                            "by -DNEARFETCH_FETCH=ON")
    endif()
    target_include_directories(nearfetch_dependencies SYSTEM INTERFACE ${found})
endfunction()

_nearfetch_need(boost boost/intrusive/avl_set.hpp libboost-dev .
                6478edfe2f3305127cffe8caf73ea0176c53769f4bf1585be237eb30798c3b8e)
_nearfetch_need(json nlohmann/json.hpp nlohmann-json3-dev include
                a22461d13119ac5c78f205d3df1db13403e58ce1bb1794edc9313677313f4a9d)
