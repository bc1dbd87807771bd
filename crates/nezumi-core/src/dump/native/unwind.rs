//! The frames of a copied stack.
//!
//! Called by `native`, long after the thread has gone on. Follows the tables that compilers write for unwinding (`.eh_frame`), with `gimli`, which the crate
//! `backtrace` uses as well. The tables are in the memory of the program and of its libraries; one that is unloaded meanwhile is not looked at, since each frame is
//! made under the loader's lock.
//!
//! Where there is no table for a function, as in C libraries without any, the chain of frame pointers is followed for that one step, if there is one.
//!
//! Promise: it ends, at [`FRAMES`] at most: each frame lies further out than the one before. It reads only the copy and the tables; what makes no sense ends it.
//!
//! Tests: below, `tests/it/stuck.rs`.

use super::super::trace::Frame;
use super::sample::{REGISTERS, Sample};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, Register, RegisterRule,
    UnwindContext, UnwindSection,
};
use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

/// How many there are at most.
const FRAMES: usize = 256;

#[cfg(target_arch = "x86_64")]
mod arch {
    pub(in super::super) const STACK_POINTER: usize = 7;
    pub(super) const FRAME_POINTER: usize = 6;
    /// The number that the tables give the return address.
    pub(super) const RETURN_ADDRESS: usize = 16;
    pub(super) const PROGRAM_COUNTER: usize = 16;

    pub(super) fn plain(address: u64) -> u64 {
        address
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    pub(in super::super) const STACK_POINTER: usize = 31;
    pub(super) const FRAME_POINTER: usize = 29;
    /// The link register.
    pub(super) const RETURN_ADDRESS: usize = 30;
    pub(super) const PROGRAM_COUNTER: usize = 32;

    /// Without the signature that a return address may carry.
    pub(super) fn plain(address: u64) -> u64 {
        address & ((1 << 48) - 1)
    }
}

pub(super) use arch::STACK_POINTER;
use arch::{FRAME_POINTER, PROGRAM_COUNTER, RETURN_ADDRESS, plain};

type Bytes = EndianSlice<'static, NativeEndian>;
type Registers = [Option<u64>; REGISTERS];

/// The frames of the copy, innermost first, as far as the address `outermost` of the stack.
pub(super) fn frames(sample: &Sample, outermost: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut registers = sample.registers.map(Some);
    let mut context = UnwindContext::new();
    while frames.len() < FRAMES {
        let is_innermost = frames.is_empty();
        let Some(pc) = registers[PROGRAM_COUNTER].filter(|pc| *pc != 0) else { break };
        // All but the innermost frame have called: what they are at is the instruction before.
        let code = pc - u64::from(!is_innermost);
        let step = step(code, &registers, sample, &mut context);
        let function = step.as_ref().map_or(0, |step| step.function);
        // As if the innermost had called, too: whoever looks for the name goes one back.
        frames.push(Frame { ip: (code as usize).wrapping_add(1), function: function as usize });
        let Some(next) = step else { break };
        let (Some(before), Some(now)) = (registers[STACK_POINTER], next.registers[STACK_POINTER]) else {
            break;
        };
        if now <= before || now as usize > outermost {
            break;
        }
        registers = next.registers;
    }
    frames
}

/// One frame further out.
struct Step {
    registers: Registers,
    /// Where the function of the inner frame begins; 0 if that is not known.
    function: u64,
}

fn step(
    code: u64,
    registers: &Registers,
    sample: &Sample,
    context: &mut UnwindContext<usize>,
) -> Option<Step> {
    let mut by_table = None;
    with_object(code, |object| by_table = by_tables(object, code, registers, sample, context));
    by_table.or_else(|| by_frame_pointer(registers, sample))
}

fn by_tables(
    object: &Object,
    code: u64,
    registers: &Registers,
    sample: &Sample,
    context: &mut UnwindContext<usize>,
) -> Option<Step> {
    let bases = BaseAddresses::default().set_eh_frame_hdr(object.header_at).set_eh_frame(object.frames_at);
    let header = EhFrameHdr::from(object.header).parse(&bases, size_of::<usize>() as u8).ok()?;
    let section = EhFrame::from(object.frames);
    let fde = header.table()?.fde_for_address(&section, &bases, code, EhFrame::cie_from_offset).ok()?;
    let row = fde.unwind_info_for_address(&section, &bases, context, code).ok()?;
    let value = |register: Register| registers.get(usize::from(register.0)).copied().flatten();
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
    let cfa = value(register)?.wrapping_add_signed(offset);
    let mut outer = *registers;
    for (register, rule) in row.registers() {
        let Some(place) = outer.get_mut(usize::from(register.0)) else { continue };
        *place = match *rule {
            RegisterRule::SameValue => continue,
            RegisterRule::Offset(offset) => word(sample, cfa.wrapping_add_signed(offset)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(offset)),
            RegisterRule::Register(other) => value(other),
            _ => None,
        };
    }
    outer[PROGRAM_COUNTER] = outer[RETURN_ADDRESS].map(plain);
    outer[STACK_POINTER] = Some(cfa);
    Some(Step { registers: outer, function: fde.initial_address() })
}

fn by_frame_pointer(registers: &Registers, sample: &Sample) -> Option<Step> {
    let frame = registers[FRAME_POINTER]?;
    let mut outer = *registers;
    outer[FRAME_POINTER] = Some(word(sample, frame)?);
    outer[PROGRAM_COUNTER] = Some(plain(word(sample, frame.checked_add(8)?)?));
    outer[RETURN_ADDRESS] = outer[PROGRAM_COUNTER];
    outer[STACK_POINTER] = Some(frame.checked_add(16)?);
    Some(Step { registers: outer, function: 0 })
}

/// What is at this address of the copied stack.
fn word(sample: &Sample, at: u64) -> Option<u64> {
    let from = usize::try_from(at).ok()?.checked_sub(sample.stack_at)?;
    let bytes = sample.stack.get(from..from.checked_add(8)?)?;
    Some(u64::from_ne_bytes(bytes.try_into().ok()?))
}

/// The program, or one of its libraries: its tables, valid while the loader's lock is held.
struct Object {
    header: Bytes,
    header_at: u64,
    frames: Bytes,
    frames_at: u64,
}

/// Calls `f` with the object that has the code at this address, under the loader's lock.
fn with_object(code: u64, f: impl FnOnce(&Object)) {
    struct Search<F> {
        code: u64,
        f: Option<F>,
    }

    extern "C" fn each<F: FnOnce(&Object)>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader gives us the one, and hands the other through from below.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<F>>()) };
        // A panic may not leave this function. There is none to be expected.
        let found = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the loader describes what is loaded.
            let Some(object) = (unsafe { object_with(info, search.code) }) else { return false };
            if let (Some(object), Some(f)) = (object, search.f.take()) {
                f(&object);
            }
            true
        }));
        c_int::from(found.unwrap_or(true))
    }

    fn run<F: FnOnce(&Object)>(mut search: Search<F>) {
        // SAFETY: the callback is given `search`, which lives longer than the call.
        unsafe { libc::dl_iterate_phdr(Some(each::<F>), (&raw mut search).cast()) };
    }

    run(Search { code, f: Some(f) });
}

/// `None` if the code is not in this object; `Some(None)` if it is, and there are no tables.
///
/// # Safety
///
/// `info` describes an object that is loaded.
unsafe fn object_with(info: &libc::dl_phdr_info, code: u64) -> Option<Option<Object>> {
    let headers = match info.dlpi_phdr.is_null() {
        true => &[][..],
        // SAFETY: the caller's promise.
        false => unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) },
    };
    let base = info.dlpi_addr;
    let range = |header: &libc::Elf64_Phdr| {
        let from = base.wrapping_add(header.p_vaddr);
        from..from.wrapping_add(header.p_memsz)
    };
    let loaded = |address: u64| {
        let loaded = headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
        loaded.map(range).find(|range| range.contains(&address))
    };
    loaded(code)?;
    let Some(header) = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME) else {
        return Some(None);
    };
    let header = range(header);
    // SAFETY: a segment that is loaded, and stays so while the caller holds the loader's lock. Nobody writes to it.
    let bytes = |range: &std::ops::Range<u64>| unsafe {
        let len = (range.end - range.start) as usize;
        EndianSlice::new(
            slice::from_raw_parts(std::ptr::with_exposed_provenance(range.start as usize), len),
            NativeEndian,
        )
    };
    let header_bytes = bytes(&header);
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.start);
    let parsed = EhFrameHdr::from(header_bytes).parse(&bases, size_of::<usize>() as u8).ok();
    let frames_at = parsed.and_then(|parsed| match parsed.eh_frame_ptr() {
        gimli::Pointer::Direct(at) => Some(at),
        gimli::Pointer::Indirect(_) => None,
    });
    // The table ends somewhere in the segment it is in.
    Some(frames_at.and_then(|at| {
        let frames = at..loaded(at)?.end;
        Some(Object { header: header_bytes, header_at: header.start, frames: bytes(&frames), frames_at: at })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(registers: [u64; REGISTERS], stack_at: usize, words: &[u64]) -> Sample {
        let stack = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Sample { registers, stack_at, stack }
    }

    #[test]
    fn without_tables_the_frame_pointers_lead_on_until_they_do_not_lead_outwards() {
        let mut registers = [0; REGISTERS];
        (registers[PROGRAM_COUNTER], registers[STACK_POINTER], registers[FRAME_POINTER]) =
            (0x10, 0x1000, 0x1010);
        // At 0x1010: the next frame pointer and a return address; so at 0x1020; and there the pointer leads back.
        let words = [0, 0, 0x1020, 0x20, 0x1000, 0x30, 0, 0];
        let frames = frames(&sample(registers, 0x1000, &words), usize::MAX);
        let found: Vec<_> = frames.iter().map(|frame| frame.ip).collect();
        assert_eq!(found, [0x11, 0x20, 0x30]);
    }

    #[test]
    fn nonsense_ends_it() {
        for value in [0, 1, u64::MAX, u64::MAX - 7, 0x1000] {
            let frames = frames(&sample([value; REGISTERS], 0x1000, &[value; 16]), usize::MAX);
            assert!(frames.len() <= 2);
        }
    }
}
