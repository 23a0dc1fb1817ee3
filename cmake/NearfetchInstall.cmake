# SPDX-License-Identifier: Apache-2.0
#
# The command `nearfetch` in the build folder, and what is installed: interposers, headers, the CMake package, the
# pkg-config files, the command with its Python package, licence and README. A wheel (component `python`) has the
# Python package alone, with its libraries inside.

include(CMakePackageConfigHelpers)

set(NEARFETCH_PYTHONDIR ${CMAKE_INSTALL_DATADIR}/nearfetch/python)
set(NEARFETCH_LIBEXECDIR ${CMAKE_INSTALL_LIBEXECDIR}/nearfetch)
set(NEARFETCH_PACKAGEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/nearfetch)
set(_executable OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# The command in the build folder ...
file(RELATIVE_PATH NEARFETCH_TO_PYTHON ${PROJECT_BINARY_DIR}/bin ${PROJECT_SOURCE_DIR}/python)
set(NEARFETCH_TO_LIBRARIES ../lib)
set(NEARFETCH_TO_SETTINGS nearfetch-settings)
configure_file(cmake/nearfetch.in bin/nearfetch @ONLY FILE_PERMISSIONS ${_executable})

# ... and the installed one.
set(_prefix /prefix)
foreach(folder IN ITEMS BINDIR LIBDIR LIBEXECDIR PYTHONDIR PACKAGEDIR INCLUDEDIR)
    if(DEFINED NEARFETCH_${folder})
        set(_relative ${NEARFETCH_${folder}})
    else()
        set(_relative ${CMAKE_INSTALL_${folder}})
    endif()
    cmake_path(ABSOLUTE_PATH _relative BASE_DIRECTORY ${_prefix} NORMALIZE OUTPUT_VARIABLE _at_${folder})
endforeach()
file(RELATIVE_PATH NEARFETCH_TO_PYTHON ${_at_BINDIR} ${_at_PYTHONDIR})
file(RELATIVE_PATH NEARFETCH_TO_LIBRARIES ${_at_BINDIR} ${_at_LIBDIR})
file(RELATIVE_PATH NEARFETCH_TO_SETTINGS ${_at_BINDIR} ${_at_LIBEXECDIR}/nearfetch-settings)
configure_file(cmake/nearfetch.in installed/nearfetch @ONLY FILE_PERMISSIONS ${_executable})
install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/nearfetch TYPE BIN)
install(
    DIRECTORY python/nearfetch
    DESTINATION ${NEARFETCH_PYTHONDIR}
    FILES_MATCHING
    PATTERN "*.py"
    PATTERN "*.html"
    PATTERN "py.typed"
    PATTERN "__pycache__" EXCLUDE)
install(TARGETS nearfetch-settings nearfetch-report nearfetch-advise DESTINATION ${NEARFETCH_LIBEXECDIR})
install(
    FILES packaging/lmod/nearfetch.lua
    DESTINATION ${CMAKE_INSTALL_DATADIR}/nearfetch/modulefiles/nearfetch
    RENAME ${PROJECT_VERSION}.lua)

# The Python package finds its parts from its own folder: here, and in a wheel, whose files scikit-build-core takes.
file(RELATIVE_PATH NEARFETCH_TO_LIBRARIES ${_at_PYTHONDIR}/nearfetch ${_at_LIBDIR})
file(RELATIVE_PATH NEARFETCH_TO_SETTINGS ${_at_PYTHONDIR}/nearfetch ${_at_LIBEXECDIR}/nearfetch-settings)
configure_file(cmake/installed.py.in installed/_installed.py @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/installed/_installed.py DESTINATION ${NEARFETCH_PYTHONDIR}/nearfetch)
set(NEARFETCH_TO_LIBRARIES lib)
set(NEARFETCH_TO_SETTINGS bin/nearfetch-settings)
configure_file(cmake/installed.py.in installed/wheel/_installed.py @ONLY)
add_custom_target(python_package DEPENDS nearfetch-settings nearfetch-report nearfetch-advise interposers recorders)
install(
    FILES ${PROJECT_BINARY_DIR}/installed/wheel/_installed.py
    DESTINATION nearfetch
    COMPONENT python
    EXCLUDE_FROM_ALL)
install(
    TARGETS nearfetch-settings nearfetch-report nearfetch-advise
    DESTINATION nearfetch/bin
    COMPONENT python
    EXCLUDE_FROM_ALL)
if(NEARFETCH_PYTHON_MODULE)
    add_dependencies(python_package nearfetch_native nearfetch_native_stub python_families)
    install(TARGETS nearfetch_native DESTINATION ${NEARFETCH_PYTHONDIR}/nearfetch)
    install(FILES ${PROJECT_BINARY_DIR}/python/nearfetch/_native.pyi DESTINATION ${NEARFETCH_PYTHONDIR}/nearfetch)
    install(
        TARGETS nearfetch_native
        DESTINATION nearfetch
        COMPONENT python
        EXCLUDE_FROM_ALL)
    install(
        FILES ${PROJECT_BINARY_DIR}/python/nearfetch/_native.pyi
        DESTINATION nearfetch
        COMPONENT python
        EXCLUDE_FROM_ALL)
elseif(SKBUILD)
    message(FATAL_ERROR "the Python package's native module cannot be built (Python's headers or nanobind are missing): "
                        "install python3-dev, or what your system calls it")
endif()
foreach(family IN LISTS NEARFETCH_MPI_FAMILIES)
    if(NEARFETCH_PYTHON_MODULE)
        install(TARGETS nearfetch_python_${family} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
        install(
            TARGETS nearfetch_python_${family}
            LIBRARY DESTINATION nearfetch/lib COMPONENT python
            EXCLUDE_FROM_ALL)
    endif()
    install(
        TARGETS nearfetch_mpi_${family} nearfetch_record_${family}
        LIBRARY DESTINATION nearfetch/lib COMPONENT python
        EXCLUDE_FROM_ALL)
endforeach()

# Headers and the CMake package.
install(
    DIRECTORY include/nearfetch
    TYPE INCLUDE
    FILES_MATCHING
    PATTERN "*.h"
    PATTERN "*.hpp")
add_library(nearfetch_headers INTERFACE)
set_target_properties(nearfetch_headers PROPERTIES EXPORT_NAME headers)
target_include_directories(nearfetch_headers INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(nearfetch::headers ALIAS nearfetch_headers)
install(TARGETS nearfetch_headers EXPORT nearfetchTargets)
install(
    EXPORT nearfetchTargets
    NAMESPACE nearfetch::
    DESTINATION ${NEARFETCH_PACKAGEDIR})
configure_package_config_file(cmake/nearfetchConfig.cmake.in installed/nearfetchConfig.cmake
                              INSTALL_DESTINATION ${NEARFETCH_PACKAGEDIR})
write_basic_package_version_file(installed/nearfetchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/installed/nearfetchConfig.cmake
              ${PROJECT_BINARY_DIR}/installed/nearfetchConfigVersion.cmake DESTINATION ${NEARFETCH_PACKAGEDIR})

# pkg-config; paths relative to the file itself, so that the prefix can be moved.
file(RELATIVE_PATH NEARFETCH_PC_TO_PREFIX ${_at_LIBDIR}/pkgconfig ${_prefix})
file(RELATIVE_PATH NEARFETCH_PC_INCLUDEDIR ${_prefix} ${_at_INCLUDEDIR})
file(RELATIVE_PATH NEARFETCH_PC_LIBDIR ${_prefix} ${_at_LIBDIR})
string(PREPEND NEARFETCH_PC_INCLUDEDIR "\${prefix}/")
string(PREPEND NEARFETCH_PC_LIBDIR "\${prefix}/")
foreach(package IN ITEMS nearfetch nearfetch-c nearfetch-pgas)
    configure_file(cmake/${package}.pc.in installed/${package}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/installed/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
foreach(family IN LISTS NEARFETCH_MPI_FAMILIES)
    foreach(package IN ITEMS nearfetch nearfetch-pgas)
        configure_file(cmake/${package}-family.pc.in installed/${package}-${family}.pc @ONLY)
        install(FILES ${PROJECT_BINARY_DIR}/installed/${package}-${family}.pc
                DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endforeach()
endforeach()

install(FILES LICENSE TYPE DOC)
install(DIRECTORY docs TYPE DOC)
foreach(file IN ITEMS README.md ARCHITECTURE.md)
    if(EXISTS ${PROJECT_SOURCE_DIR}/${file})
        install(FILES ${file} TYPE DOC)
    endif()
endforeach()
