# SPDX-License-Identifier: Apache-2.0
#
# The functions by which the folders of nearfetch describe their targets. Layers that include mpi.h exist once per MPI
# family; USES picks the variant of the right family where there is one.

set(NEARFETCH_PROGRAMS_DIR ${PROJECT_BINARY_DIR}/programs)

# All time limits of tests are multiplied by this: the sanitizers make the code several times slower.
set(NEARFETCH_TIME_FACTOR 1)
if(NEARFETCH_SANITIZE)
    set(NEARFETCH_TIME_FACTOR 4)
endif()

# Parses the calling function's arguments from number `first` on, as cmake_parse_arguments does, into arg_<KEYWORD>.
# A misspelt keyword would otherwise be taken for one more source file.
macro(_nearfetch_parse first flags single multiple)
    cmake_parse_arguments(PARSE_ARGV ${first} arg "${flags}" "${single}" "${multiple}")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "unknown arguments ${arg_UNPARSED_ARGUMENTS} (${CMAKE_CURRENT_FUNCTION} does not take them): "
                            "see the comment above its definition")
    endif()
endmacro()

# Gives an argument that the caller left out its default.
macro(_nearfetch_default keyword)
    if(NOT DEFINED arg_${keyword})
        set(arg_${keyword} ${ARGN})
    endif()
endmacro()

# The time limit of the calling function's test: its TIMEOUT, or else `seconds`, times NEARFETCH_TIME_FACTOR.
macro(_nearfetch_time_limit seconds)
    _nearfetch_default(TIMEOUT ${seconds})
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${NEARFETCH_TIME_FACTOR}")
endmacro()

# Links `target` to the layers named in USES: nearfetch::<use>_<family> where it exists, else nearfetch::<use>.
function(_nearfetch_use target visibility family)
    foreach(use IN LISTS ARGN)
        if(family AND TARGET nearfetch::${use}_${family})
            target_link_libraries(${target} ${visibility} nearfetch::${use}_${family})
        else()
            target_link_libraries(${target} ${visibility} nearfetch::${use})
        endif()
    endforeach()
endfunction()

# Tells the sources of `target` which family they are compiled for.
function(_nearfetch_define_family target visibility family)
    string(TOUPPER ${family} FAMILY)
    target_compile_definitions(${target} ${visibility} NEARFETCH_MPI_${FAMILY}=1 NEARFETCH_MPI_FAMILY="${family}")
endfunction()

# The library of a layer, from the calling function's SOURCES and USES; ARGN is linked in front of USES. Leaves behind
# `visibility`, with which more can be said about it.
macro(_nearfetch_add_layer name family)
    if(arg_SOURCES)
        add_library(nearfetch_${name} STATIC ${arg_SOURCES})
        set(visibility PUBLIC)
        set_target_properties(nearfetch_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    else()
        add_library(nearfetch_${name} INTERFACE)
        set(visibility INTERFACE)
    endif()
    add_library(nearfetch::${name} ALIAS nearfetch_${name})
    target_link_libraries(nearfetch_${name} ${visibility} ${ARGN})
    _nearfetch_use(nearfetch_${name} ${visibility} "${family}" ${arg_USES})
endmacro()

# nearfetch_layer(<name> [SOURCES a.cpp ...] [USES layer ...])
#
# A layer that knows no MPI: static library nearfetch_<name> (position independent) with the alias nearfetch::<name>;
# without SOURCES it is headers only. Includes are rooted at src/ and include/. USES names other layers.
function(nearfetch_layer name)
    _nearfetch_parse(1 "" "" "SOURCES;USES")
    _nearfetch_add_layer(${name} "" nearfetch_options)
endfunction()

# nearfetch_mpi_layer(<name> [SOURCES a.cpp ...] [USES layer ...])
#
# A layer that includes mpi.h: static library nearfetch_<name>_<family> with the alias nearfetch::<name>_<family> for
# each family. It is compiled against the headers alone; who links it decides whether libmpi is linked.
function(nearfetch_mpi_layer name)
    _nearfetch_parse(1 "" "" "SOURCES;USES")
    foreach(family IN LISTS NEARFETCH_MPI_FAMILIES NEARFETCH_SIMULATED_FAMILY)
        _nearfetch_add_layer(${name}_${family} ${family} nearfetch_options nearfetch::mpi_${family}_headers)
        _nearfetch_define_family(nearfetch_${name}_${family} ${visibility} ${family})
        if(family STREQUAL NEARFETCH_SIMULATED_FAMILY)
            set_target_properties(nearfetch_${name}_${family} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
    endforeach()
endfunction()

# A library for LD_PRELOAD under the programs of one family, from the sources ARGN.
#
# MPICH and the standard ABI are not linked: their handles are constants, so the library takes libmpi from the program
# it is loaded into, whichever version that brings. Open MPI's predefined handles are data symbols, which cannot be
# bound lazily; there libmpi.so.40 is linked by name, without a path, and the program's own copy comes first.
function(_nearfetch_add_preload target family)
    add_library(${target} SHARED ${ARGN})
    set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH ON)
    _nearfetch_define_family(${target} PRIVATE ${family})
    if(family STREQUAL "openmpi")
        target_link_libraries(${target} PRIVATE nearfetch_options nearfetch::mpi_${family})
    else()
        target_link_libraries(${target} PRIVATE nearfetch_options nearfetch::mpi_${family}_headers)
        target_link_options(${target} PRIVATE -Wl,-z,lazy)
    endif()
endfunction()

# What a shared library for programs outside of the project has: the symbols that the version script `exports` lists and
# no others, and the public headers.
function(_nearfetch_export target exports)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${exports})
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                   $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_options(${target} PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL -Wl,-z,text)
endfunction()

# Its place when it is installed.
function(_nearfetch_install target)
    install(
        TARGETS ${target}
        EXPORT nearfetchTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# Links libstdc++ into a library whose programs may have an older one, or none. The sanitizers intercept exceptions
# inside the shared libstdc++ and need it. UNWINDS: exceptions of the program pass through the library, for which both
# need the one libgcc_s, which comes with the C library.
function(_nearfetch_need_no_libstdcxx target)
    if(NEARFETCH_SANITIZE)
        return()
    endif()
    target_link_options(${target} PRIVATE -static-libstdc++)
    if("UNWINDS" IN_LIST ARGN)
        target_link_options(${target} PRIVATE -shared-libgcc)
    else()
        target_link_options(${target} PRIVATE -static-libgcc)
    endif()
endfunction()

# nearfetch_objects(<name> SOURCES a.cpp ... [USES layer ...])
#
# What several shared libraries have in common: compiled once, as object library nearfetch_<name>.
function(nearfetch_objects name)
    _nearfetch_parse(1 "" "" "SOURCES;USES")
    add_library(nearfetch_${name} OBJECT ${arg_SOURCES})
    set_target_properties(nearfetch_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                                                       POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(nearfetch_${name} PRIVATE nearfetch_options)
    _nearfetch_use(nearfetch_${name} PRIVATE "" ${arg_USES})
endfunction()

# What makes `target` the library `name` in file <build>/lib/lib<file>.so, for programs outside of the project.
function(_nearfetch_describe_shared target name file)
    add_library(nearfetch::${name} ALIAS ${target})
    set_target_properties(
        ${target}
        PROPERTIES OUTPUT_NAME ${file}
                   EXPORT_NAME ${name}
                   CXX_VISIBILITY_PRESET hidden
                   VISIBILITY_INLINES_HIDDEN ON
                   VERSION ${PROJECT_VERSION}
                   SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    _nearfetch_export(${target} ${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
    _nearfetch_install(${target})
endfunction()

# nearfetch_shared_library(<name> FILE <file> SOURCES a.cpp ... [USES layer ...] [SELF_CONTAINED])
#
# A library for programs outside of the project: target nearfetch_<name>, alias nearfetch::<name> (here and where it is
# installed), file <build>/lib/lib<FILE>.so. It exports what is marked as visible and listed in exports.map beside the
# caller. SELF_CONTAINED: it needs no C++ library.
function(nearfetch_shared_library name)
    _nearfetch_parse(1 "SELF_CONTAINED" "FILE" "SOURCES;USES")
    set(target nearfetch_${name})
    add_library(${target} SHARED ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE nearfetch_options)
    _nearfetch_use(${target} PRIVATE "" ${arg_USES})
    _nearfetch_describe_shared(${target} ${name} ${arg_FILE})
    if(arg_SELF_CONTAINED)
        _nearfetch_need_no_libstdcxx(${target})
    endif()
endfunction()

# nearfetch_mpi_shared_library(<name> FILE <file> SOURCES a.cpp ... [USES layer ...])
#
# The same once for each family, as nearfetch_<name>_<family>, alias nearfetch::<name>_<family>, file
# lib<FILE>_<family>.so, for programs that link libmpi themselves.
function(nearfetch_mpi_shared_library name)
    _nearfetch_parse(1 "" "FILE" "SOURCES;USES")
    foreach(family IN LISTS NEARFETCH_MPI_FAMILIES)
        set(target nearfetch_${name}_${family})
        _nearfetch_add_preload(${target} ${family} ${arg_SOURCES})
        _nearfetch_use(${target} PRIVATE ${family} ${arg_USES})
        _nearfetch_describe_shared(${target} ${name}_${family} ${arg_FILE}_${family})
    endforeach()
endfunction()

# The command line by which a family's mpi.h is preprocessed, in `result`.
function(_nearfetch_preprocessing family result)
    get_target_property(folders nearfetch_api_${family}_headers INTERFACE_INCLUDE_DIRECTORIES)
    get_target_property(definitions nearfetch_api_${family}_headers INTERFACE_COMPILE_DEFINITIONS)
    list(TRANSFORM folders PREPEND -I)
    list(TRANSFORM definitions PREPEND -D)
    set(${result}
        ${CMAKE_C_COMPILER} ${folders} ${definitions}
        PARENT_SCOPE)
endfunction()

# One interposer of a family, in the calling function's terms: from its SOURCES and the wrappers in `source`.
macro(_nearfetch_add_interposer target family source)
    _nearfetch_add_preload(${target} ${family} ${arg_SOURCES} ${source})
    _nearfetch_use(${target} PRIVATE ${family} ${arg_USES})
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    _nearfetch_export(${target} ${CMAKE_CURRENT_SOURCE_DIR}/exports.map)
    _nearfetch_need_no_libstdcxx(${target} UNWINDS)
    # A call that passes is felt by each jump on its way. So where the interposer brings libmpi along, the library's
    # calls are looked up when it is loaded; where it takes libmpi from the program, that may be loaded later.
    if("${family}" STREQUAL "openmpi")
        target_compile_options(${target} PRIVATE -fno-plt)
    endif()
    add_custom_command(
        TARGET ${target}
        POST_BUILD
        COMMAND ${NEARFETCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/wrappers/weak_calls.py $<TARGET_FILE:${target}>
        VERBATIM)
endmacro()

# The source with the wrappers of an interposer, in `result`, in the calling function's terms; made by the target
# nearfetch_<name>_<family>_calls.
macro(_nearfetch_make_wrappers name family result)
    set(${result} ${CMAKE_CURRENT_BINARY_DIR}/${name}_calls_${family}.cpp)
    _nearfetch_preprocessing(${family} preprocessing)
    add_custom_command(
        OUTPUT ${${result}}
        COMMAND ${NEARFETCH_PYTHON} ${arg_GENERATOR} --table ${arg_CALLS} --family ${family} --scope ${arg_SCOPE} --source
                ${${result}} -- ${preprocessing}
        DEPENDS ${arg_CALLS} ${arg_GENERATOR}
        VERBATIM)
    add_custom_target(nearfetch_${name}_${family}_calls DEPENDS ${${result}})
    set_target_properties(nearfetch_${name}_${family}_calls PROPERTIES NEARFETCH_WRAPPERS ${${result}})
endmacro()

# nearfetch_interposer(<name> ALL target SOURCES a.cpp ... CALLS table GENERATOR script.py SCOPE header
#                      [USES layer ...] [FAULT_INJECTION] [SIMULATED a.cpp ...])
#
# The library for LD_PRELOAD or linking: target nearfetch_<name>_<family> (of all families: ALL), file
# <build>/lib/libnearfetch_<name>_<family>.so, compiled with NEARFETCH_MPI_<FAMILY>=1 and
# NEARFETCH_MPI_FAMILY="<family>". GENERATOR makes from CALLS, the table of the MPI calls, and from the family's mpi.h
# one more source, which includes SCOPE; it is the property NEARFETCH_WRAPPERS of nearfetch_<name>_<family>_calls, the
# target that makes it. The library exports what is marked as visible and listed in exports.map beside the caller.
#
# SIMULATED: the object library nearfetch_<name>_<family> of the simulated family, for its programs, with these sources
# besides.
#
# FAULT_INJECTION: the target nearfetch_<name>_<family>_fault_injection, compiled with NEARFETCH_FAULT_INJECTION=1, is
# for tests only: file <build>/tests/libnearfetch_<name>_<family>_fault_injection.so.
function(nearfetch_interposer name)
    _nearfetch_parse(1 "FAULT_INJECTION" "ALL;CALLS;GENERATOR;SCOPE" "SOURCES;USES;SIMULATED")
    cmake_path(ABSOLUTE_PATH arg_CALLS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(ABSOLUTE_PATH arg_GENERATOR BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    add_custom_target(${arg_ALL})
    foreach(family IN LISTS NEARFETCH_MPI_FAMILIES)
        set(target nearfetch_${name}_${family})
        _nearfetch_make_wrappers(${name} ${family} source)
        _nearfetch_add_interposer(${target} ${family} ${source})
        add_dependencies(${target} ${target}_calls)
        add_dependencies(${arg_ALL} ${target})
        set_target_properties(${target} PROPERTIES EXPORT_NAME ${name}_${family})
        _nearfetch_install(${target})
        if(NOT arg_FAULT_INJECTION)
            continue()
        endif()
        _nearfetch_add_interposer(${target}_fault_injection ${family} ${source})
        add_dependencies(${target}_fault_injection ${target}_calls)
        target_compile_definitions(${target}_fault_injection PRIVATE NEARFETCH_FAULT_INJECTION=1)
        set_target_properties(${target}_fault_injection PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
                                                          EXCLUDE_FROM_ALL ON)
    endforeach()
    if(arg_SIMULATED AND NEARFETCH_SIMULATED_FAMILY)
        set(target nearfetch_${name}_${NEARFETCH_SIMULATED_FAMILY})
        _nearfetch_make_wrappers(${name} ${NEARFETCH_SIMULATED_FAMILY} source)
        add_library(${target} OBJECT EXCLUDE_FROM_ALL ${arg_SOURCES} ${arg_SIMULATED} ${source})
        _nearfetch_define_family(${target} PRIVATE ${NEARFETCH_SIMULATED_FAMILY})
        target_link_libraries(${target} PUBLIC nearfetch_options nearfetch::mpi_${NEARFETCH_SIMULATED_FAMILY})
        _nearfetch_use(${target} PUBLIC ${NEARFETCH_SIMULATED_FAMILY} ${arg_USES})
        add_dependencies(${target} ${target}_calls)
    endif()
endfunction()

# nearfetch_preload(<name> SOURCES a.c ...)
#
# A library to preload in nearfetch's place, to compare with: <build>/bench/<name>_<family>.so. Not installed.
function(nearfetch_preload name)
    _nearfetch_parse(1 "" "" "SOURCES;DEFINITIONS")
    foreach(family IN LISTS NEARFETCH_MPI_FAMILIES)
        set(target ${name}_${family})
        _nearfetch_add_preload(${target} ${family} ${arg_SOURCES})
        target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
        set_target_properties(${target} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    endforeach()
endfunction()

# nearfetch_mpi_program(<name> SOURCES a.cpp ... [LINK target ...] [FAMILIES family ...] [LANGUAGE C|CXX|Fortran]
#                       [SIMULATED])
#
# One executable <build>/programs/<family>/<name> per MPI family, target <name>_<family>; `ninja programs-<name>` builds
# all. LINK may name targets of which each family has its own, by the placeholder @FAMILY@. It knows nothing of the
# interposer. SIMULATED: and one for the simulated family, which is a library with the interposer in it.
function(nearfetch_mpi_program name)
    _nearfetch_parse(1 "SIMULATED" "LANGUAGE" "SOURCES;LINK;FAMILIES")
    _nearfetch_default(FAMILIES ${NEARFETCH_MPI_FAMILIES})
    _nearfetch_default(LANGUAGE CXX)
    add_custom_target(programs-${name})
    foreach(family IN LISTS arg_FAMILIES)
        set(available ${NEARFETCH_MPI_FAMILIES})
        set(api nearfetch::mpi_${family})
        if(arg_LANGUAGE STREQUAL "Fortran")
            set(available ${NEARFETCH_MPI_FORTRAN_FAMILIES})
            set(api nearfetch::mpi_${family}_fortran)
        endif()
        if(NOT family IN_LIST available)
            continue()
        endif()
        set(target ${name}_${family})
        string(TOUPPER ${family} FAMILY)
        add_executable(${target} ${arg_SOURCES})
        set_target_properties(
            ${target}
            PROPERTIES OUTPUT_NAME ${name}
                       RUNTIME_OUTPUT_DIRECTORY ${NEARFETCH_PROGRAMS_DIR}/${family}
                       Fortran_MODULE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${target}.modules
                       LINKER_LANGUAGE ${arg_LANGUAGE})
        list(TRANSFORM arg_LINK REPLACE "@FAMILY@" ${family} OUTPUT_VARIABLE links)
        target_compile_definitions(${target} PRIVATE NEARFETCH_MPI_${FAMILY}=1)
        target_link_libraries(${target} PRIVATE ${links} nearfetch_options ${api})
        add_dependencies(programs-${name} ${target})
    endforeach()
    if(arg_SIMULATED AND NEARFETCH_SIMULATED_FAMILY)
        set(target ${name}_${NEARFETCH_SIMULATED_FAMILY})
        string(TOUPPER ${NEARFETCH_SIMULATED_FAMILY} FAMILY)
        add_library(${target} MODULE ${arg_SOURCES})
        set_target_properties(
            ${target}
            PROPERTIES OUTPUT_NAME ${name}
                       PREFIX ""
                       SUFFIX ""
                       LIBRARY_OUTPUT_DIRECTORY ${NEARFETCH_PROGRAMS_DIR}/${NEARFETCH_SIMULATED_FAMILY})
        target_compile_definitions(${target} PRIVATE NEARFETCH_MPI_${FAMILY}=1)
        target_link_libraries(${target} PRIVATE nearfetch_mpi_${NEARFETCH_SIMULATED_FAMILY} ${arg_LINK} nearfetch_options)
        # Its calls of MPI are those of the interposer that it has, whatever the process has loaded.
        # SMPI copies the file for each rank, so it has no symbols for debuggers.
        target_link_options(${target} PRIVATE -Wl,-Bsymbolic -Wl,-z,defs -Wl,--strip-all)
        add_dependencies(programs-${name} ${target})
    endif()
endfunction()

# nearfetch_unit_test(<name> SOURCES a.cpp ... [LINK target ...] [LABELS label ...] [TIMEOUT seconds])
#
# A GoogleTest executable <build>/tests/<name>, one ctest `unit.<name>` with the label `unit`. Definition
# NEARFETCH_TEST_DATA is the folder of the calling CMakeLists.txt.
function(nearfetch_unit_test name)
    _nearfetch_parse(1 "" "TIMEOUT" "SOURCES;LINK;LABELS")
    _nearfetch_time_limit(300)
    set(target unit_${name})
    add_executable(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                                                   ${PROJECT_BINARY_DIR}/tests)
    target_compile_definitions(${target} PRIVATE NEARFETCH_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE ${arg_LINK} nearfetch_options GTest::gtest_main)
    add_test(NAME unit.${name} COMMAND ${target})
    set_tests_properties(unit.${name} PROPERTIES LABELS "unit;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# nearfetch_own_session(<test>)
#
# Gives the runs of Open MPI in a ctest a session directory of their own. Tests run at the same time, and Open MPI 4's
# own directory is one for all jobs of a user: the last job to end removes it while the next one enters it, which then
# fails (open-mpi/ompi issue 8510).
function(nearfetch_own_session test)
    set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
                                              OMPI_MCA_orte_tmpdir_base=${PROJECT_BINARY_DIR}/sessions/${test})
endfunction()

# nearfetch_mpi_test(<program> [NAME name] [ARGS ...] [RANKS 1 2 4] [MODES plain off ...] [NETWORKS shm tcp]
#                    [FAMILIES ...] [LABELS ...] [TIMEOUT seconds] [SET key=value ...] [SERIAL])
#
# Registers ctest `mpi.<family>.<name>.<mode>.<network>.n<ranks>` for each combination: tests/launch.py starts the
# program of nearfetch_mpi_program, or a Python script of the calling folder when <program> ends in .py. Mode `plain`
# runs without nearfetch, any other through `nearfetch run --mode`. NAME tells tests of one program apart; SET passes
# settings on (not to plain). SERIAL: nothing else runs meanwhile.
function(nearfetch_mpi_test program)
    _nearfetch_parse(1 "SERIAL" "NAME;TIMEOUT" "ARGS;RANKS;MODES;NETWORKS;FAMILIES;LABELS;SET")
    _nearfetch_default(NAME ${program})
    _nearfetch_default(RANKS 1 2 4)
    _nearfetch_default(MODES plain off transparent always-cache user-defined)
    _nearfetch_default(NETWORKS shm)
    _nearfetch_default(FAMILIES ${NEARFETCH_MPI_FAMILIES})
    _nearfetch_time_limit(120)
    list(TRANSFORM arg_SET PREPEND "--set=" OUTPUT_VARIABLE settings)
    string(REGEX REPLACE "\\.py$" "" name ${arg_NAME})
    foreach(family IN LISTS arg_FAMILIES)
        if(program MATCHES "\\.py$")
            set(command ${NEARFETCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${program})
        elseif(TARGET ${program}_${family})
            set(command $<TARGET_FILE:${program}_${family}>)
        else()
            continue()
        endif()
        if(NOT family IN_LIST NEARFETCH_MPI_FAMILIES AND NOT family STREQUAL "${NEARFETCH_SIMULATED_FAMILY}")
            continue()
        endif()
        foreach(mode IN LISTS arg_MODES)
            foreach(network IN LISTS arg_NETWORKS)
                foreach(ranks IN LISTS arg_RANKS)
                    set(test mpi.${family}.${name}.${mode}.${network}.n${ranks})
                    add_test(
                        NAME ${test}
                        COMMAND
                            ${NEARFETCH_PYTHON} ${PROJECT_SOURCE_DIR}/tests/launch.py --build=${PROJECT_BINARY_DIR}
                            --family=${family} --ranks=${ranks} --mode=${mode} --network=${network}
                            --timeout=${arg_TIMEOUT} ${settings} -- ${command} ${arg_ARGS})
                    # launch.py ends the ranks itself at the time limit; ctest's own limit is the second line.
                    math(EXPR limit "${arg_TIMEOUT} + 30")
                    set_tests_properties(
                        ${test}
                        PROPERTIES LABELS "mpi;${family};${mode};${network};${arg_LABELS}"
                                   TIMEOUT ${limit}
                                   PROCESSORS ${ranks}
                                   RUN_SERIAL "${arg_SERIAL}"
                                   SKIP_RETURN_CODE 77)
                    nearfetch_own_session(${test})
                endforeach()
            endforeach()
        endforeach()
    endforeach()
endfunction()

# nearfetch_python_test(<name> PATHS file-or-folder ... [LABELS ...] [TIMEOUT seconds] [PROCESSORS n]
#                       [ENVIRONMENT VAR=value ...])
#
# pytest over PATHS as ctest `python.<name>`. The tests find nearfetch's Python package, NEARFETCH_PROGRAMS
# (<build>/programs) and NEARFETCH_BUILD (<build>) in their environment.
function(nearfetch_python_test name)
    _nearfetch_parse(1 "" "TIMEOUT;PROCESSORS" "PATHS;LABELS;ENVIRONMENT")
    _nearfetch_time_limit(300)
    _nearfetch_default(PROCESSORS 1)
    list(TRANSFORM arg_PATHS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
    # The MPI programs that these tests start leave memory behind, as MPI libraries do (see tests/launch.py).
    if(NEARFETCH_SANITIZE)
        list(APPEND arg_ENVIRONMENT ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1)
    endif()
    add_test(NAME python.${name} COMMAND ${NEARFETCH_PYTHON} -m pytest -q -p no:cacheprovider ${paths})
    set_tests_properties(
        python.${name}
        PROPERTIES
            LABELS "python;${arg_LABELS}"
            TIMEOUT ${arg_TIMEOUT}
            PROCESSORS ${arg_PROCESSORS}
            ENVIRONMENT
            "PYTHONPATH=${PROJECT_SOURCE_DIR}/python;NEARFETCH_PROGRAMS=${NEARFETCH_PROGRAMS_DIR};NEARFETCH_BUILD=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1;${arg_ENVIRONMENT}"
    )
    nearfetch_own_session(python.${name})
endfunction()

# The Python that runs the tests: the virtual environment's, where numpy, mpi4py and pytest are.
if(EXISTS ${NEARFETCH_VENV}/bin/python)
    set(NEARFETCH_PYTHON ${NEARFETCH_VENV}/bin/python)
else()
    find_package(Python3 COMPONENTS Interpreter REQUIRED)
    set(NEARFETCH_PYTHON ${Python3_EXECUTABLE})
endif()

# nearfetch_fuzzer(<name> SOURCES a.cpp ... [LINK target ...])
#
# A libFuzzer executable <build>/fuzz/<name>; only the preset `fuzz` (clang) builds it, by the target `fuzzers`.
function(nearfetch_fuzzer name)
    _nearfetch_parse(1 "" "" "SOURCES;LINK")
    if(NOT NEARFETCH_FUZZ)
        return()
    endif()
    if(NOT TARGET fuzzers)
        add_custom_target(fuzzers)
    endif()
    add_executable(${name} ${arg_SOURCES})
    add_dependencies(fuzzers ${name})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${arg_LINK} nearfetch_options)
endfunction()
