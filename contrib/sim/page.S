/* The page as it stands in page.html, put into the program by the assembler. */
	.section .rodata
	.global sim_page_start
	.global sim_page_end
sim_page_start:
	.incbin PAGE_HTML
sim_page_end:
	.byte 0
	.section .note.GNU-stack,"",@progbits
