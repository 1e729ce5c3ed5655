/* The page as it stands in page.html, put into the program by the assembler. */
	.section .rodata
	.global sim_page_start
	.global sim_page_size
sim_page_start:
	.incbin PAGE_HTML
page_end:
	.balign 8
sim_page_size:
	.quad page_end - sim_page_start
	.section .note.GNU-stack,"",@progbits
