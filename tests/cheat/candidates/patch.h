// Replaces a function of the C library in the table of the program that loaded the candidate.
#pragma once

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

struct Patch {
  char const* name;
  void* replacement;
};

inline void patch_table(unsigned long base, Elf64_Rela* entry, unsigned long bytes, Elf64_Sym* symbols, char const* names,
                        Patch const& patch) {
  for (unsigned long i = 0; entry != nullptr && i < bytes / sizeof *entry; ++i) {
    if (strcmp(names + symbols[ELF64_R_SYM(entry[i].r_info)].st_name, patch.name) != 0) continue;
    void** const slot = reinterpret_cast<void**>(base + entry[i].r_offset);
    mprotect(reinterpret_cast<void*>(reinterpret_cast<unsigned long>(slot) & ~4095UL), 8192, PROT_READ | PROT_WRITE);
    *slot = patch.replacement;
  }
}

inline int patch_first(dl_phdr_info* program, size_t, void* patch) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    if (program->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    Elf64_Rela *lazy = nullptr, *eager = nullptr;
    Elf64_Sym* symbols = nullptr;
    char const* names = nullptr;
    unsigned long lazy_bytes = 0, eager_bytes = 0;
    auto* tag = reinterpret_cast<Elf64_Dyn*>(program->dlpi_addr + program->dlpi_phdr[i].p_vaddr);
    for (; tag->d_tag != DT_NULL; ++tag) {
      if (tag->d_tag == DT_JMPREL) lazy = reinterpret_cast<Elf64_Rela*>(tag->d_un.d_ptr);
      if (tag->d_tag == DT_PLTRELSZ) lazy_bytes = tag->d_un.d_val;
      if (tag->d_tag == DT_RELA) eager = reinterpret_cast<Elf64_Rela*>(tag->d_un.d_ptr);
      if (tag->d_tag == DT_RELASZ) eager_bytes = tag->d_un.d_val;
      if (tag->d_tag == DT_SYMTAB) symbols = reinterpret_cast<Elf64_Sym*>(tag->d_un.d_ptr);
      if (tag->d_tag == DT_STRTAB) names = reinterpret_cast<char const*>(tag->d_un.d_ptr);
    }
    patch_table(program->dlpi_addr, lazy, lazy_bytes, symbols, names, *static_cast<Patch*>(patch));
    patch_table(program->dlpi_addr, eager, eager_bytes, symbols, names, *static_cast<Patch*>(patch));
  }
  return 1; // the program itself comes first; the libraries stay as they are
}

inline void patch_program(char const* name, void* replacement) {
  Patch patch{name, replacement};
  dl_iterate_phdr(patch_first, &patch);
}
