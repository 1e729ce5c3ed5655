# A room is one static library. It sees its own folder and, by way of the rooms it links to, theirs:
# each room's public headers stand behind a private include folder, so that an include against the
# direction of the arrows does not compile.

# kairo_headers(NAME VISIBLE_PATH...) -> interface target NAME whose include folder shows just these
# paths (files or folders, relative to the source root) under their own names.
function(kairo_headers name)
	set(root ${CMAKE_BINARY_DIR}/inc/${name})
	foreach(path ${ARGN})
		cmake_path(GET path PARENT_PATH parent)
		file(MAKE_DIRECTORY ${root}/${parent})
		file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${path} ${root}/${path} SYMBOLIC)
	endforeach()
	add_library(${name} INTERFACE)
	target_include_directories(${name} INTERFACE ${root})
endfunction()

# kairo_room(NAME HEADERS interface-target SOURCES files... ROOMS libs... PRIVATE libs...)
function(kairo_room name)
	cmake_parse_arguments(R "" "" "HEADERS;SOURCES;ROOMS;PRIVATE" ${ARGN})
	if(NOT R_SOURCES)
		add_library(${name} INTERFACE)
		target_link_libraries(${name} INTERFACE ${R_HEADERS} ${R_ROOMS})
		return()
	endif()
	add_library(${name} STATIC ${R_SOURCES})
	target_link_libraries(${name} PUBLIC ${R_HEADERS} ${R_ROOMS} PRIVATE kairo_flags ${R_PRIVATE})
endfunction()

# kairo_plain(ROOM...): copies ROOM_plain of rooms without sanitizers, for the program that lives
# inside the fence: sanitizers need system calls and memory that the fence does not grant.
function(kairo_plain)
	foreach(name ${ARGN})
		if(NOT KAIRO_SANITIZE)
			add_library(${name}_plain ALIAS ${name})
			continue()
		endif()
		get_target_property(dir ${name} SOURCE_DIR)
		get_target_property(sources ${name} SOURCES)
		get_target_property(links ${name} LINK_LIBRARIES)
		list(TRANSFORM sources PREPEND ${dir}/ REGEX "^[^/]")
		list(TRANSFORM links APPEND _plain REGEX "^(kairo_flags|base|tools_patch|tools_exec)$")
		add_library(${name}_plain STATIC EXCLUDE_FROM_ALL ${sources})
		target_link_libraries(${name}_plain PUBLIC ${links})
	endforeach()
endfunction()
