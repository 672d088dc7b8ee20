import { endianness } from "node:os";

/**
 * Programs of classic BPF, as the kernel's seccomp(2) runs them before each system call, put together from blocks: a block
 * that is not entered is jumped over, and one that ends in `give` decides. Nothing on npm makes such programs.
 */

/** One instruction: its code, how many to jump over where its test holds and where it does not, its operand. */
interface Instruction {
  code: number;
  yes: number;
  no: number;
  k: number;
}
export type Block = readonly Instruction[];

// linux/bpf_common.h
const LOAD_WORD = 0x20;
const AND = 0x54;
const JUMP_EQUAL = 0x15;
const JUMP_ABOVE = 0x25;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

// linux/seccomp.h
export const ALLOW = 0x7fff0000;
export const KILL_PROCESS = 0x80000000;
/** The call fails with this number of errno.h, and is not made. */
export const errno = (number: number): number => 0x00050000 | number;

const MOST_JUMPED = 255;
/** Of the kernel: BPF_MAXINSNS. */
const MOST_INSTRUCTIONS = 4_096;

const plain = (code: number, k: number): Block => [{ code, yes: 0, no: 0, k }];

/** Enters `block` where the test holds, or where it does not; goes on behind it otherwise. */
function entered(code: number, k: number, when: boolean, block: Block): Block {
  if (block.length > MOST_JUMPED) throw new RangeError(`a block of ${block.length} instructions`);
  const over = { yes: when ? 0 : block.length, no: when ? block.length : 0 };
  return [{ code, k, ...over }, ...block];
}

/** The call's number is looked at from here on. */
export const loadNumber = (): Block => plain(LOAD_WORD, 0);
export const loadArch = (): Block => plain(LOAD_WORD, 4);
/** The lower half of an argument: all that the kernel reads of an int, of flags and of a command. */
export const loadArgument = (index: number): Block => plain(LOAD_WORD, 16 + 8 * index);
export const keepBits = (mask: number): Block => plain(AND, mask);
export const give = (action: number): Block => plain(RETURN, action);

export const whenEqual = (k: number, block: Block): Block => entered(JUMP_EQUAL, k, true, block);
export const unlessEqual = (k: number, block: Block): Block => entered(JUMP_EQUAL, k, false, block);
export const whenAtLeast = (k: number, block: Block): Block =>
  entered(JUMP_AT_LEAST, k, true, block);
export const whenAnyBit = (k: number, block: Block): Block => entered(JUMP_ANY_BIT, k, true, block);

/** Decides for all numbers from `first` to `last`. */
export const givenWithin = (first: number, last: number, action: number): Block =>
  first === last
    ? whenEqual(first, give(action))
    : whenAtLeast(first, entered(JUMP_ABOVE, last, false, give(action)));

/** The program as `struct sock_filter[]`. */
export function assemble(program: Block): Uint8Array {
  if (program.length > MOST_INSTRUCTIONS)
    throw new RangeError(`a program of ${program.length} instructions`);
  const little = endianness() === "LE";
  const bytes = new DataView(new ArrayBuffer(program.length * 8));
  for (const [i, { code, yes, no, k }] of program.entries()) {
    bytes.setUint16(i * 8, code, little);
    bytes.setUint8(i * 8 + 2, yes);
    bytes.setUint8(i * 8 + 3, no);
    bytes.setUint32(i * 8 + 4, k >>> 0, little);
  }
  return new Uint8Array(bytes.buffer);
}
