# Installs the files that belong to no room's target, and defines the Debian package (cpack -G DEB).
include(CMakePackageConfigHelpers)

# The headers for programs and for their tests, and the CMake files of find_package(vramstow).
set(_cmake_files ${CMAKE_INSTALL_LIBDIR}/cmake/vramstow)
install(FILES include/vramstow/vramstow.h include/vramstow/gtest.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vramstow)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/vramstowConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES cmake/VramstowTraceTest.cmake cmake/VramstowRunTraceTest.cmake cmake/vramstowConfig.cmake
              ${PROJECT_BINARY_DIR}/vramstowConfigVersion.cmake
        DESTINATION ${_cmake_files})

# The libraries that are linked statically require that their licences are distributed as well.
foreach(_linked libabsl-dev libbz2-dev libcli11-dev libdw-dev libelf-dev liblzma-dev libminizip-dev
                libzstd-dev nlohmann-json3-dev zlib1g-dev)
  if(EXISTS /usr/share/doc/${_linked}/copyright)
    install(FILES /usr/share/doc/${_linked}/copyright
            DESTINATION ${CMAKE_INSTALL_LIBDIR}/vramstow/licences RENAME ${_linked})
  endif()
endforeach()

# The pages that `vramstow help PAGE` prints, in the wheel, too. A link gives the program in the
# build folder the same relative path to them as an installed one has. An update must not keep pages
# of the release before, which would be listed, too.
install(CODE
        "file(REMOVE_RECURSE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/vramstow/docs\")")
install(DIRECTORY docs/ DESTINATION share/doc/vramstow/docs)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/doc/vramstow)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/docs ${PROJECT_BINARY_DIR}/share/doc/vramstow/docs SYMBOLIC)

# A Debian package must have its licence in this folder. The wheel has it elsewhere.
set(VRAMSTOW_INSTALL_DOCS ON CACHE BOOL "Install the documentation and the licence")
if(VRAMSTOW_INSTALL_DOCS)
  install(FILES LICENSE DESTINATION share/doc/vramstow RENAME copyright)
  install(FILES README.md DESTINATION share/doc/vramstow)
  # Shells search these folders for the completion scripts of packages. In a cross build the program
  # cannot run here, so it cannot write the scripts.
  if(NOT CMAKE_CROSSCOMPILING)
    install(FILES ${VRAMSTOW_COMPLETION}/vramstow DESTINATION share/bash-completion/completions)
    install(FILES ${VRAMSTOW_COMPLETION}/_vramstow DESTINATION share/zsh/vendor-completions)
  endif()
endif()

set(VRAMSTOW_MAINTAINER "The vramstow authors <vramstow@localhost>"
    CACHE STRING "Who stands in the package as its maintainer")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME vramstow)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "see, pool and move the GPU memory of unmodified programs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A shared library that is preloaded into an unmodified PyTorch, LibTorch or other
CUDA program, sees every call that gives or takes device memory and can serve it
from a pool; a program that runs such jobs and explains their traces; and a
simulated CUDA device, so that a job can be rehearsed without a GPU.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${VRAMSTOW_MAINTAINER})
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
# dpkg-shlibdeps finds the packages of the linked libraries.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The adapters, which are compiled at their first use, and `vramstow export --to parquet` need these
# packages.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ (>= 4:10), python3 (>= 3.10)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# The dynamic linker searches the folder of lib/libvramstow.so, so its cache must be updated.
file(WRITE ${PROJECT_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/triggers)
include(CPack)
