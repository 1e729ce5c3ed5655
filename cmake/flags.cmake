# Compiler flags shared by every target: kairo_flags_plain, and kairo_flags with the sanitizers on top
# when they are on.
add_library(kairo_flags_plain INTERFACE)
add_library(kairo_flags INTERFACE)
target_link_libraries(kairo_flags INTERFACE kairo_flags_plain)
target_compile_options(kairo_flags_plain INTERFACE
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
	-Wwrite-strings -Wvla -Wconversion -Wsign-conversion -Wpointer-arith -Wcast-qual
	-Wundef -Wformat=2 -Wnull-dereference -Wimplicit-fallthrough -fno-common
	-fstack-protector-strong -fno-semantic-interposition
	-include ${CMAKE_SOURCE_DIR}/base/banned.h)
target_compile_definitions(kairo_flags_plain INTERFACE
	_GNU_SOURCE KAIRO_VERSION="${PROJECT_VERSION}"
	$<$<BOOL:${KAIRO_TEST_HOOKS}>:KAIRO_TEST_HOOKS=1>
	$<$<AND:$<CONFIG:Release>,$<NOT:$<BOOL:${KAIRO_SANITIZE}>>>:_FORTIFY_SOURCE=2>)
target_link_options(kairo_flags_plain INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported()

if(KAIRO_WERROR)
	target_compile_options(kairo_flags_plain INTERFACE -Werror)
endif()
if(KAIRO_SANITIZE)
	target_compile_options(kairo_flags INTERFACE
		-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
	target_link_options(kairo_flags INTERFACE -fsanitize=address,undefined)
	# gcc's -Wnull-dereference sees phantom paths through the instrumentation.
	target_compile_options(kairo_flags INTERFACE -Wno-null-dereference)
endif()
if(KAIRO_FUZZ)
	target_compile_options(kairo_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
