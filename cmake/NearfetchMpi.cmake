# SPDX-License-Identifier: Apache-2.0
#
# Finds the MPI libraries to build for, one per binary interface ("family").
#
#   mpich    MPICH and its relatives, soname libmpi.so.12 or libmpich.so.12
#   openmpi  Open MPI 4 and 5, soname libmpi.so.40
#   mpiabi   the standard ABI of MPI-5, soname libmpi_abi.so.1
#
# And one that is simulated: SimGrid's SMPI runs hundreds of ranks in virtual time in one process. It loads a program
# once for each rank, and nothing can be preloaded; so nearfetch is a part of the programs there. It is for tests and
# benchmarks alone.
#
# CMake's own FindMPI knows one MPI per build; the interposer is built once for each. So each family is found through
# its compiler wrapper, whose -show line is taken apart into include folders and libraries. Libraries are named by
# their full path: Debian's alternatives may let a bare -lmpi mean the other family.
#
# Input (cache):  NEARFETCH_MPICC_<FAMILY>, NEARFETCH_MPIFC_<FAMILY>  the wrapper; "OFF" leaves a family out
#                 NEARFETCH_SMPI_INCLUDE_DIR, NEARFETCH_SMPI_LIBRARY     of SMPI
# Result:         NEARFETCH_MPI_FAMILIES          families found
#                 NEARFETCH_SIMULATED_FAMILY      smpi, or empty
#                 NEARFETCH_MPI_FORTRAN_FAMILIES  families found with Fortran
# Targets:        nearfetch::mpi_<family>          headers and library (C and C++)
#                 nearfetch::mpi_<family>_headers  headers alone
#                 nearfetch::mpi_<family>_fortran  modules, mpif.h and libraries

set(NEARFETCH_ALL_MPI_FAMILIES mpich openmpi mpiabi)
set(NEARFETCH_VENV
    ${PROJECT_SOURCE_DIR}/.venv
    CACHE PATH "Python virtual environment looked at first for MPI wrappers")

# Takes the wrapper's -show line apart: include folders, definitions, library folders and library names.
function(_nearfetch_show wrapper prefix)
    execute_process(
        COMMAND ${wrapper} -show
        OUTPUT_VARIABLE line
        ERROR_QUIET
        RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(${prefix}_includes "")
    set(${prefix}_definitions "")
    set(${prefix}_folders "")
    set(${prefix}_names "")
    if(status EQUAL 0)
        separate_arguments(words UNIX_COMMAND "${line}")
        foreach(word IN LISTS words)
            if(word MATCHES "^-I(.+)")
                list(APPEND ${prefix}_includes ${CMAKE_MATCH_1})
            elseif(word MATCHES "^-D(.+)")
                list(APPEND ${prefix}_definitions ${CMAKE_MATCH_1})
            elseif(word MATCHES "^-L(.+)")
                list(APPEND ${prefix}_folders ${CMAKE_MATCH_1})
            elseif(word MATCHES "^-l(mpi.*)")
                list(APPEND ${prefix}_names ${CMAKE_MATCH_1})
            endif()
        endforeach()
        list(REMOVE_DUPLICATES ${prefix}_includes)
    endif()
    foreach(part IN ITEMS includes definitions folders names)
        set(${prefix}_${part}
            "${${prefix}_${part}}"
            PARENT_SCOPE)
    endforeach()
endfunction()

# The full path of library `name`; a linker script of the form INPUT(libx.so.1) is followed to the library it names.
function(_nearfetch_library name folders result)
    set(${result}
        ""
        PARENT_SCOPE)
    foreach(folder IN LISTS folders)
        set(file ${folder}/lib${name}.so)
        if(EXISTS ${file})
            file(SIZE ${file} bytes)
            if(bytes LESS 1024)
                file(READ ${file} text)
                if(text MATCHES "INPUT\\( *([^ )]+)")
                    set(file ${folder}/${CMAKE_MATCH_1})
                endif()
            endif()
            set(${result}
                ${file}
                PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()

# The family whose mpi.h the wrapper's include folders hold, or "".
function(_nearfetch_family_of includes definitions result)
    set(found "")
    foreach(folder IN LISTS includes)
        if("MPI_ABI" IN_LIST definitions AND EXISTS ${folder}/mpi_abi.h)
            set(found mpiabi)
        elseif(EXISTS ${folder}/mpi.h AND NOT found)
            file(STRINGS ${folder}/mpi.h lines REGEX "^#define +(MPICH_NUMVERSION|OPEN_MPI|OMPI_MAJOR_VERSION) ")
            if(lines MATCHES "MPICH_NUMVERSION")
                set(found mpich)
            elseif(lines MATCHES "OPEN_MPI|OMPI_MAJOR_VERSION")
                set(found openmpi)
            endif()
        endif()
    endforeach()
    set(${result}
        "${found}"
        PARENT_SCOPE)
endfunction()

# Looks for a family's C wrapper and defines its targets.
function(_nearfetch_find_mpi family)
    string(TOUPPER ${family} FAMILY)
    set(candidates "")
    if(DEFINED CACHE{NEARFETCH_MPICC_${FAMILY}})
        set(candidates $CACHE{NEARFETCH_MPICC_${FAMILY}})
        if(NOT candidates)
            return()
        endif()
    else()
        set(names_mpich ${NEARFETCH_VENV}/bin/mpicc mpicc mpicc.mpich)
        set(names_openmpi mpicc.openmpi mpicc ${NEARFETCH_VENV}/bin/mpicc)
        set(names_mpiabi ${NEARFETCH_VENV}/bin/mpicc_abi mpicc_abi)
        foreach(name IN LISTS names_${family})
            find_program(_nearfetch_wrapper NAMES ${name} NO_CACHE)
            if(_nearfetch_wrapper)
                list(APPEND candidates ${_nearfetch_wrapper})
            endif()
            unset(_nearfetch_wrapper)
        endforeach()
    endif()
    foreach(wrapper IN LISTS candidates)
        _nearfetch_show(${wrapper} mpi)
        _nearfetch_family_of("${mpi_includes}" "${mpi_definitions}" seen)
        if(NOT seen STREQUAL family OR NOT mpi_names)
            continue()
        endif()
        list(GET mpi_names 0 name)
        _nearfetch_library("${name}" "${mpi_folders}" library)
        if(NOT library)
            continue()
        endif()
        add_library(nearfetch_api_${family}_headers INTERFACE)
        add_library(nearfetch::mpi_${family}_headers ALIAS nearfetch_api_${family}_headers)
        target_include_directories(nearfetch_api_${family}_headers SYSTEM INTERFACE ${mpi_includes})
        # The C++ bindings left the standard in 2012; without these lines mpi.h would still pull them in.
        target_compile_definitions(nearfetch_api_${family}_headers INTERFACE ${mpi_definitions} OMPI_SKIP_MPICXX=1
                                                                             MPICH_SKIP_MPICXX=1)
        add_library(nearfetch_api_${family} INTERFACE)
        add_library(nearfetch::mpi_${family} ALIAS nearfetch_api_${family})
        target_link_libraries(nearfetch_api_${family} INTERFACE nearfetch_api_${family}_headers ${library})
        set(NEARFETCH_MPI_LIBRARY_${FAMILY}
            ${library}
            PARENT_SCOPE)
        set(NEARFETCH_MPI_WRAPPER_${FAMILY}
            ${wrapper}
            PARENT_SCOPE)
        return()
    endforeach()
    if(DEFINED CACHE{NEARFETCH_MPICC_${FAMILY}})
        message(FATAL_ERROR "NEARFETCH_MPICC_${FAMILY}=${candidates} is not usable (it is not a compiler wrapper of the "
                            "family ${family}): name another wrapper, or OFF to leave the family out")
    endif()
endfunction()

# Looks for a family's Fortran wrapper and defines its target.
function(_nearfetch_find_mpi_fortran family)
    string(TOUPPER ${family} FAMILY)
    if(DEFINED CACHE{NEARFETCH_MPIFC_${FAMILY}})
        set(wrapper $CACHE{NEARFETCH_MPIFC_${FAMILY}})
    else()
        # Beside the C wrapper: another MPI of the family may have another version.
        cmake_path(GET NEARFETCH_MPI_WRAPPER_${FAMILY} PARENT_PATH folder)
        find_program(
            wrapper
            NAMES mpif90.${family}
            PATHS ${folder}
            NO_DEFAULT_PATH NO_CACHE)
    endif()
    if(NOT wrapper)
        return()
    endif()
    _nearfetch_show(${wrapper} fortran)
    set(libraries "")
    foreach(name IN LISTS fortran_names)
        _nearfetch_library(${name} "${fortran_folders};/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${family}/lib" library)
        if(NOT library)
            message(STATUS "MPI family ${family}: no Fortran (lib${name}.so is missing)")
            return()
        endif()
        list(APPEND libraries ${library})
    endforeach()
    if(NOT libraries)
        return()
    endif()
    add_library(nearfetch_api_${family}_fortran INTERFACE)
    add_library(nearfetch::mpi_${family}_fortran ALIAS nearfetch_api_${family}_fortran)
    target_include_directories(nearfetch_api_${family}_fortran INTERFACE ${fortran_includes})
    target_link_libraries(nearfetch_api_${family}_fortran INTERFACE ${libraries})
    set(NEARFETCH_MPI_FORTRAN_FAMILIES
        ${NEARFETCH_MPI_FORTRAN_FAMILIES} ${family}
        PARENT_SCOPE)
endfunction()

set(NEARFETCH_MPI_FAMILIES "")
set(NEARFETCH_MPI_FORTRAN_FAMILIES "")
foreach(family IN LISTS NEARFETCH_ALL_MPI_FAMILIES)
    _nearfetch_find_mpi(${family})
    if(NOT TARGET nearfetch::mpi_${family})
        message(STATUS "MPI family ${family}: not found")
        continue()
    endif()
    list(APPEND NEARFETCH_MPI_FAMILIES ${family})
    if(CMAKE_Fortran_COMPILER)
        _nearfetch_find_mpi_fortran(${family})
    endif()
    string(TOUPPER ${family} FAMILY)
    message(STATUS "MPI family ${family}: ${NEARFETCH_MPI_LIBRARY_${FAMILY}}")
endforeach()

find_path(NEARFETCH_SMPI_INCLUDE_DIR mpi.h PATH_SUFFIXES smpi NO_DEFAULT_PATH PATHS /usr/include /usr/local/include)
find_library(NEARFETCH_SMPI_LIBRARY simgrid)
mark_as_advanced(NEARFETCH_SMPI_INCLUDE_DIR NEARFETCH_SMPI_LIBRARY)
set(NEARFETCH_SIMULATED_FAMILY "")
if(NEARFETCH_TESTS AND NOT NEARFETCH_SANITIZE AND NEARFETCH_SMPI_LIBRARY AND NEARFETCH_SMPI_INCLUDE_DIR MATCHES "smpi$")
    set(NEARFETCH_SIMULATED_FAMILY smpi)
    add_library(nearfetch_api_smpi_headers INTERFACE)
    add_library(nearfetch::mpi_smpi_headers ALIAS nearfetch_api_smpi_headers)
    target_include_directories(nearfetch_api_smpi_headers SYSTEM INTERFACE ${NEARFETCH_SMPI_INCLUDE_DIR})
    add_library(nearfetch_api_smpi INTERFACE)
    add_library(nearfetch::mpi_smpi ALIAS nearfetch_api_smpi)
    target_link_libraries(nearfetch_api_smpi INTERFACE nearfetch_api_smpi_headers ${NEARFETCH_SMPI_LIBRARY})
    message(STATUS "simulated MPI: ${NEARFETCH_SMPI_LIBRARY}")
endif()
set(NEARFETCH_MPI_FOUND
    "${NEARFETCH_MPI_FAMILIES}"
    CACHE INTERNAL "The families, for ./nf")
if(NOT NEARFETCH_MPI_FAMILIES AND NOT NEARFETCH_FUZZ)
    message(WARNING "no MPI found (no compiler wrapper of MPICH, Open MPI or the MPI ABI works): install one, or name "
                    "its wrapper by NEARFETCH_MPICC_MPICH, NEARFETCH_MPICC_OPENMPI or NEARFETCH_MPICC_MPIABI")
endif()
