// Branches, calls, barriers, traps, and what has no effect on an interpreter: caches, priorities.
#include <string_view>

#include "hostcalls.h"
#include "machine.h"

namespace isa {

u32 Code::index_at(u64 where) const {
  const u64 offset = where - address;
  if (where < address || offset / 4 >= index_of.size() || offset % 4 || index_of[offset / 4] == ~0u)
    throw Fault(Fault::Other, "jumps to where no instruction begins");
  return index_of[offset / 4];
}

namespace {

void nothing(Wave &, const Inst &) {}

template <auto condition>
void branch_if(Wave &w, const Inst &i) {
  if (condition(w)) w.pc = i.constant;
}

u64 next_address(const Wave &w, const Inst &i) { return w.launch->code->address_of(i.index) + 4 * i.words; }

// Hardware registers as the ISA documents number them. Where a wave runs is one place for all.
u64 register_value(const Wave &w, u32 number) {
  const u32 generation = w.launch->code->generation;
  const bool has_xcc = w.launch->code->target.starts_with("gfx94") || w.launch->code->target.starts_with("gfx95");
  if (number == 1) return 0xf0 | 1u << 9 | 1u << 8;    // MODE: every subnormal kept, IEEE, DX10 clamp
  if (number == (generation == 9 ? 4 : 23)) return 0;  // HW_ID
  if (number == 20 && has_xcc) return 0;               // XCC_ID
  if (number == 29 && generation > 9) return w.executed & (generation == 12 ? 0xffffffff : 0xfffff);  // SHADER_CYCLES
  if (number == 30 && generation == 12) return w.executed >> 32;
  throw Fault(Fault::Unknown, "the hardware register " + std::to_string(number));
}

void get_register(Wave &w, const Inst &i) {
  const u32 offset = i.constant >> 6 & 31, size = (i.constant >> 11 & 31) + 1;
  const u64 value = register_value(w, i.constant & 63);
  w.set_scalar(i.dst, static_cast<u32>(value >> offset & ((u64{1} << size) - 1)));
}

// s_set_gpr_idx_on of Vega and CDNA: until s_set_gpr_idx_off, M0 counts from the sources and destinations that `i`
// names on. LLVM puts moves between the two, which are executed here.
void index_registers(Wave &w, const Inst &i) {
  const Code &code = *w.launch->code;
  const u32 by = w.scalar(i.src[0], i) & 255, what = i.src[1] & 15;
  w.set_scalar(m0, (w.s[m0] & ~0xf0ffu) | by | what << 12);
  for (;;) {
    const Inst &next = code.insts[w.pc++];
    if (std::strcmp(mnemonic(code.target, next), "s_set_gpr_idx_off") == 0) return;
    Inst moved = next;
    if (next.encoding != Encoding::VOP1 || next.inner) unknown(w, next);
    for (u16 *code_of : {what & 1 ? &moved.src[0] : nullptr, what & 8 ? &moved.dst : nullptr}) {
      if (!code_of || *code_of < vgpr) continue;
      if (*code_of + by >= temporary) throw Fault(Fault::Other, "a relative move outside of the registers");
      *code_of = static_cast<u16>(*code_of + by);
    }
    ++w.executed;
    moved.run(w, moved);
  }
}

[[noreturn]] void sets_register(Wave &w, const Inst &i) {
  if ((i.constant & 63) == 1) throw Fault(Fault::Unknown, "a change of the float mode");
  unknown(w, i);
}

// Scalar registers that a message or a clock fills, some time later.
template <u32 count, auto f>
void answers(Wave &w, const Inst &i) {
  const u64 value = f(w);
  for (u32 n = 0; n < count; ++n) w.load_scalar(static_cast<u16>(i.dst + n), static_cast<u32>(value >> 32 * n));
  if (i.dst + count <= exec) w.waits.add(Counter::Scalar, i.index, i.dst, count);
}

// Caches are none here, but the instructions are counted: stores and loads before them have to be waited for.
template <Counter counter>
void counted(Wave &w, const Inst &i) {
  w.waits.add(counter, i.index, 0, 0);
}

// Priorities, hints, caches that are none here, counters that no load is counted by. At s_barrier_signal a wave goes on
// to wait for the others.
constexpr std::string_view without_effect =
    " s_nop s_setprio s_icache_inv s_dcache_wb s_sethalt s_delay_alu s_clause s_code_end s_waitcnt_depctr"
    " s_set_inst_prefetch_distance s_inst_prefetch s_sendmsg buffer_gl0_inv buffer_gl1_inv s_gl1_inv"
    " s_incperflevel s_decperflevel s_ttracedata buffer_inv buffer_wbinvl1 buffer_wbinvl1_vol buffer_invl2"
    " s_set_gpr_idx_off s_wakeup s_wait_event s_sleep_var s_singleuse_vdst s_prefetch_data s_prefetch_data_pc_rel"
    " s_prefetch_inst s_prefetch_inst_pc_rel s_barrier_signal s_wait_alu global_wb global_wbinv s_waitcnt_expcnt"
    " s_wait_expcnt s_wait_samplecnt s_wait_bvhcnt ";

constexpr Semantics control_rows[] = {
    {"s_sleep", [](Wave &, const Inst &) { serve_hostcalls(); }},
    {"s_dcache_inv", [](Wave &w, const Inst &) { w.group->scalar_lines.clear(); }},
    {"buffer_wbl2", &counted<Counter::Vector>},
    {"s_getreg_b32", get_register},
    {"s_set_gpr_idx_on", index_registers},
    {"s_endpgm", [](Wave &w, const Inst &) { w.ended = true; }},
    {"s_barrier_wait", [](Wave &w, const Inst &) { w.at_barrier = true; }},
    {"global_inv", &counted<Counter::Vector>},
    {"s_setreg_b32",
     [](Wave &w, const Inst &i) {  // the registers with the address of scratch memory, which has none here
       const u32 number = i.constant & 63;
       if (number != 20 && number != 21) sets_register(w, i);
     }},
    {"s_setreg_imm32_b32", sets_register},
    {"s_barrier", [](Wave &w, const Inst &) { w.at_barrier = true; }},
    {"s_trap",
     [](Wave &, const Inst &i) {
       if ((i.constant & 255) == 3) return;  // the debugger's
       throw Fault(Fault::Trap, "executed a trap instruction");
     }},
    {"s_branch", [](Wave &w, const Inst &i) { w.pc = i.constant; }},
    {"s_cbranch_scc0", &branch_if<[](const Wave &w) { return !w.scc_; }>},
    {"s_cbranch_scc1", &branch_if<[](const Wave &w) { return w.scc_; }>},
    {"s_cbranch_vccz", &branch_if<[](const Wave &w) { return w.vcc_mask() == 0; }>},
    {"s_cbranch_vccnz", &branch_if<[](const Wave &w) { return w.vcc_mask() != 0; }>},
    {"s_cbranch_execz", &branch_if<[](const Wave &w) { return w.exec_ == 0; }>},
    {"s_cbranch_execnz", &branch_if<[](const Wave &w) { return w.exec_ != 0; }>},
    {"s_getpc_b64", [](Wave &w, const Inst &i) { w.set_scalar64(i.dst, next_address(w, i)); }},
    {"s_setpc_b64", [](Wave &w, const Inst &i) { w.pc = w.launch->code->index_at(w.scalar64(i.src[0], i)); }},
    {"s_swappc_b64",
     [](Wave &w, const Inst &i) {
       const u64 to = w.scalar64(i.src[0], i);
       w.set_scalar64(i.dst, next_address(w, i));
       w.pc = w.launch->code->index_at(to);
     }},
    {"s_call_b64",
     [](Wave &w, const Inst &i) {
       const u64 back = next_address(w, i);
       w.set_scalar64(i.dst, back);
       const i64 words = static_cast<i16>(i.constant);
       w.pc = w.launch->code->index_at(back + static_cast<u64>(4 * words));
     }},
    {"s_sendmsg_rtn_b32", &answers<1, [](const Wave &) { return u64{0}; }>},       // asked for before a trap
    {"s_sendmsg_rtn_b64", &answers<2, [](const Wave &w) { return w.executed; }>},  // the clock
    {"s_memtime", &answers<2, [](const Wave &w) { return w.executed; }>},
    {"s_memrealtime", &answers<2, [](const Wave &w) { return w.executed; }>},
};

}  // namespace

Run find_control(const char *name) {
  const bool has_none = without_effect.find(" " + std::string(name) + " ") != std::string_view::npos;
  return has_none ? nothing : find_row(control_rows, name);
}

}  // namespace isa
