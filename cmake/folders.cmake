# Folders that an installation has to make are open to all, whatever the umask of root who installs: it
# would shut everybody else out of the helper and the manual. Folders that are there are left as they are.
set(folders ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_LIBEXECDIR}/kairo ${CMAKE_INSTALL_MANDIR}/man1
	${CMAKE_INSTALL_MANDIR}/man5 ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
	${CMAKE_INSTALL_DATADIR}/zsh/site-functions lib/systemd/user)
install(CODE "set(folders \"${folders}\")")
install(CODE [[
	foreach(folder IN LISTS folders)
		cmake_path(ABSOLUTE_PATH folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
		set(folder "$ENV{DESTDIR}${folder}")
		set(missing "")
		while(NOT EXISTS "${folder}")
			list(PREPEND missing "${folder}")
			cmake_path(GET folder PARENT_PATH folder)
		endwhile()
		foreach(path IN LISTS missing)
			file(MAKE_DIRECTORY "${path}")
			file(CHMOD "${path}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
				WORLD_READ WORLD_EXECUTE)
		endforeach()
	endforeach()]])
